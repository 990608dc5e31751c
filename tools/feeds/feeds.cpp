#include <tools/feeds/feeds.hpp>

#include <tools/exit_code.hpp>

#include <sluice/stream/npy.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace sluice::tools {

namespace {

command_error usage(const std::string& sentence) {
  return {exit_code::usage, sentence};
}

class feed_loader {
public:
  feed_loader(const graph& g, const input_options& options) : graph_(g), options_(options) {
    for (const auto e : g.inputs())
      types_.emplace(g.at_edge(e).name, g.at_edge(e).type);
  }

  void add(const std::string& text) {
    // A name may have '=' in it, a source too: the split is where the left side is an input.
    for (auto at = text.find('='); at != std::string::npos; at = text.find('=', at + 1))
      if (types_.contains(text.substr(0, at)))
        return give(text.substr(0, at), text.substr(at + 1));
    if (text.ends_with(".npz"))
      return give_archive(text);
    if (const auto at = text.find('='); at != std::string::npos)
      throw usage("the model has no input '" + text.substr(0, at) + "', but " + input_names());
    give(only_input_left(text), text);
  }

  named_values finish(missing_input missing) {
    std::string absent;
    for (const auto& [name, type] : types_) {
      if (values_.contains(name))
        continue;
      if (missing == missing_input::random)
        give(name, "random");
      else
        absent += (absent.empty() ? "" : ", ") + ("'" + name + "' (" + to_string(type) + ')');
    }
    if (!absent.empty())
      throw usage("no value for input " + absent + ": give one with --input NAME=SOURCE");
    return std::move(values_);
  }

private:
  void give(const std::string& name, const std::string& source) {
    put(name, load_source(source, types_.find(name)->second, options_), "from '" + source + "'");
  }

  void give_archive(const std::string& file) {
    std::map<std::string, value> arrays;
    try {
      arrays = load_npz(file);
    } catch (const error& e) {
      throw command_error{exit_code::bad_file, e.what()};
    }
    if (arrays.size() == 1 && !types_.contains(arrays.begin()->first))
      return put(only_input_left(file), arrays.begin()->second, "from '" + file + "'");
    for (auto& [name, array] : arrays) {
      if (!types_.contains(name))
        throw usage("'" + file + "' holds '" + name + "', but the model has no such input, only " +
                    input_names());
      put(name, std::move(array), "from '" + file + "'");
    }
  }

  void put(const std::string& name, value v, const std::string& origin) {
    const auto& type = types_.find(name)->second;
    if (!type.admits(v))
      throw usage("input '" + name + "' is " + to_string(type) + ", not " + describe(v) + " (" + origin +
                  ')');
    if (!values_.emplace(name, std::move(v)).second)
      throw usage("input '" + name + "' is given twice");
  }

  [[nodiscard]] std::string only_input_left(const std::string& source) const {
    std::vector<std::string> left;
    for (const auto& [name, type] : types_)
      if (!values_.contains(name))
        left.push_back(name);
    if (left.size() != 1)
      throw usage("'" + source + "' names no input: say NAME=" + source + " with one of " + input_names());
    return left.front();
  }

  [[nodiscard]] std::string input_names() const {
    std::string names;
    for (const auto e : graph_.inputs())
      names += (names.empty() ? "'" : ", '") + graph_.at_edge(e).name + '\'';
    return names.empty() ? "none" : names;
  }

  const graph& graph_;
  const input_options& options_;
  std::map<std::string, value_type, std::less<>> types_;
  named_values values_;
};

} // namespace

named_values load_feeds(const graph& g, std::span<const std::string> texts, const input_options& options,
                        missing_input missing) {
  feed_loader loader{g, options};
  for (const auto& text : texts)
    loader.add(text);
  return loader.finish(missing);
}

} // namespace sluice::tools
