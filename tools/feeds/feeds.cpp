#include <tools/feeds/feeds.hpp>

#include <tools/console.hpp>
#include <tools/exit_code.hpp>
#include <tools/suggestion.hpp>

#include <sluice/stream/npy.hpp>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace sluice::tools {

namespace {

command_error usage(const std::string& sentence) {
  return {exit_code::usage, sentence};
}

std::string listed(std::span<const std::string> names) {
  std::string text;
  for (const auto& name : names)
    text += (text.empty() ? "'" : ", '") + name + '\'';
  return text.empty() ? "none" : text;
}

class feed_loader {
public:
  feed_loader(const graph& g, const input_options& options) : options_(options) {
    for (const auto e : g.inputs()) {
      types_.emplace(g.at_edge(e).name, g.at_edge(e).type);
      names_.push_back(g.at_edge(e).name);
    }
  }

  void add(const std::string& text) {
    // A name may have '=' in it, a source too: the split is where the left side is an input.
    for (auto at = text.find('='); at != std::string::npos; at = text.find('=', at + 1))
      if (types_.contains(text.substr(0, at)))
        return give(text.substr(0, at), text.substr(at + 1));
    if (text.ends_with(".npz"))
      return give_archive(text);
    std::error_code ignored;
    if (const auto at = text.find('=');
        at != std::string::npos && !text.starts_with("text:") && !std::filesystem::exists(text, ignored))
      throw usage("the model has no input '" + text.substr(0, at) + "', but " + listed(names_) +
                  suggestion(text.substr(0, at), names_));
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
    try {
      put(name, load_source(source, types_.find(name)->second, options_), "from '" + source + "'");
    } catch (const source_error& e) {
      throw command_error{e.code(), "input '" + name + "': " + e.what()};
    }
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
                    listed(names_));
      put(name, std::move(array), "from '" + file + "'");
    }
  }

  void put(const std::string& name, value v, const std::string& origin) {
    const auto& type = types_.find(name)->second;
    if (!type.admits(v))
      throw usage("input '" + name + "' is " + to_string(type) + ", not " + describe(v) + " (" + origin +
                  ')');
    log(log_level::debug, "input '" + name + "' is " + describe(v) + ' ' + origin);
    if (!values_.emplace(name, std::move(v)).second)
      throw usage("input '" + name + "' is given twice");
  }

  [[nodiscard]] std::string only_input_left(const std::string& source) const {
    std::vector<std::string> left;
    for (const auto& [name, type] : types_)
      if (!values_.contains(name))
        left.push_back(name);
    if (left.size() != 1)
      throw usage("'" + source + "' names no input: say NAME=" + source + " with one of " + listed(names_));
    return left.front();
  }

  const input_options& options_;
  std::map<std::string, value_type, std::less<>> types_;
  std::vector<std::string> names_; // in the model's order
  named_values values_;
};

} // namespace

void check_symbols(const graph& g, const dim_values& dims) {
  if (dims.empty())
    return;
  std::vector<std::string> symbols;
  for (const auto e : g.inputs())
    if (const auto& t = g.at_edge(e).type; t.is_tensor() && t.shape().has_rank())
      for (const auto& d : t.shape().dims())
        if (!d.known() && !d.symbol().empty() && std::count(symbols.begin(), symbols.end(), d.symbol()) == 0)
          symbols.push_back(d.symbol());
  for (const auto& [symbol, extent] : dims)
    if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
      throw usage("no input of the model has an extent '" + symbol + "' for --dim, but " + listed(symbols) +
                  suggestion(symbol, symbols));
}

named_values load_feeds(const graph& g, std::span<const std::string> texts, const input_options& options,
                        missing_input missing) {
  check_symbols(g, options.dims);
  feed_loader loader{g, options};
  for (const auto& text : texts)
    loader.add(text);
  return loader.finish(missing);
}

} // namespace sluice::tools
