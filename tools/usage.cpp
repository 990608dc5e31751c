#include <tools/usage.hpp>

#include <tools/suggestion.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace sluice::tools {

namespace {

template <class T>
bool reads(const std::string& text, T& number) {
  const auto* end = text.data() + text.size();
  const auto [at, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc{} && at == end;
}

std::string in_words(std::uint64_t least, std::uint64_t most) {
  if (most == ~std::uint64_t{0})
    return least == 0 ? "a whole number" : "a whole number from " + std::to_string(least);
  return "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
}

bool within(double x, real_range range) {
  switch (range) {
  case real_range::not_negative:
    return x >= 0;
  case real_range::positive:
    return x > 0;
  case real_range::not_zero:
    return x != 0;
  case real_range::any:
    break;
  }
  return true;
}

const char* in_words(real_range range) {
  switch (range) {
  case real_range::not_negative:
    return "a number from 0";
  case real_range::positive:
    return "a number above 0";
  case real_range::not_zero:
    return "a number other than 0";
  case real_range::any:
    break;
  }
  return "a number";
}

CLI::Validator check(std::function<std::string(std::string&)> test) {
  return {std::move(test), ""}; // help says nothing of it
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* o : app.get_options())
    for (const auto& name : o->get_lnames())
      names.push_back("--" + name);
  return names;
}

/// The word that is no option of the command, or one too many; empty if there is none.
std::string about_words(const CLI::App& app, const CLI::App* sub) {
  const auto words = app.remaining(true);
  const auto option = std::find_if(words.begin(), words.end(),
                                   [](const auto& w) { return w.size() > 1 && w.starts_with('-'); });
  if (option != words.end()) {
    const auto name = option->substr(0, option->find('='));
    auto names = option_names(app);
    if (sub)
      for (auto& n : option_names(*sub))
        names.push_back(std::move(n));
    return "there is no option '" + name + "'" + suggestion(name, names);
  }
  if (words.empty())
    return {};
  if (sub)
    return "'" + words.front() + "' is an argument too many";
  std::vector<std::string> names;
  for (const auto* s : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(s->get_name());
  return "there is no subcommand '" + words.front() + "'" + suggestion(words.front(), names);
}

std::string about(const CLI::App& app, const CLI::App* sub, const CLI::ParseError& problem) {
  std::string said = problem.what();
  if (auto words = about_words(app, sub); !words.empty())
    return words;
  if (dynamic_cast<const CLI::RequiredError*>(&problem) != nullptr)
    return sub ? "a " + said : "a subcommand is required"; // "model is required"
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&problem) != nullptr)
    return said.substr(0, said.find(':')) +
           (said.find("At Most") == std::string::npos ? " needs a value" : " is given more than once");
  if (const auto at = said.find(" excludes "); at != std::string::npos)
    return said.substr(0, at) + " and " + said.substr(at + std::string_view{" excludes "}.size()) +
           " exclude each other";
  std::replace(said.begin(), said.end(), '\n', ' ');
  return said;
}

} // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return check([=](const std::string& text) {
    std::uint64_t n = 0;
    return reads(text, n) && n >= least && n <= most ? std::string{}
                                                     : "'" + text + "' is not " + in_words(least, most);
  });
}

CLI::Validator real_number(real_range range) {
  return check([=](const std::string& text) {
    double x = 0;
    return reads(text, x) && std::isfinite(x) && within(x, range)
               ? std::string{}
               : "'" + text + "' is not " + in_words(range);
  });
}

CLI::Validator file_name() {
  return check(
      [](const std::string& text) { return text.empty() ? "the name of the file is empty" : std::string{}; });
}

std::string usage_sentence(const CLI::App& app, const CLI::ParseError& problem) {
  const auto subs = app.get_subcommands();
  const auto* sub = subs.empty() ? nullptr : subs.front();
  return about(app, sub, problem) + " (see " + app.get_name() + (sub ? ' ' + sub->get_name() : "") +
         " --help)";
}

} // namespace sluice::tools
