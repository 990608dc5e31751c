#include <tools/results/output_files.hpp>

#include <tools/exit_code.hpp>
#include <tools/results/destination.hpp>
#include <tools/suggestion.hpp>

#include <sluice/graph/onnx_tensor.hpp>
#include <sluice/stream/csv_file.hpp>
#include <sluice/stream/image_file.hpp>
#include <sluice/stream/npy.hpp>

#include <algorithm>
#include <array>
#include <filesystem>

namespace sluice::tools {

namespace {

using writer = void (*)(const std::string& file, const value& v);

constexpr std::array<std::pair<std::string_view, writer>, 4> writers{{
    {".npy", [](const std::string& file, const value& v) { save_npy(file, v); }},
    {".csv", [](const std::string& file, const value& v) { save_csv(file, v); }},
    {".pb", [](const std::string& file, const value& v) { write_onnx_value(file, v); }},
    {".png", [](const std::string& file, const value& v) { save_png(file, v); }},
}};

writer writer_of(const std::string& file) {
  const auto extension = std::filesystem::path{file}.extension();
  const auto found =
      std::find_if(writers.begin(), writers.end(), [&](const auto& w) { return extension == w.first; });
  return found == writers.end() ? nullptr : found->second;
}

bool archive(const std::string& file) {
  return file.ends_with(".npz");
}

command_error usage(const std::string& sentence) {
  return {exit_code::usage, sentence};
}

} // namespace

output_files::output_files(std::span<const std::string> texts, std::span<const std::string> outputs) {
  const auto is_output = [&](const std::string& name) {
    return std::find(outputs.begin(), outputs.end(), name) != outputs.end();
  };
  for (const auto& text : texts) {
    target t{{}, text};
    for (auto at = text.find('='); at != std::string::npos; at = text.find('=', at + 1))
      if (is_output(text.substr(0, at))) {
        t = {text.substr(0, at), text.substr(at + 1)};
        break;
      }
    if (!archive(t.file) && !writer_of(t.file))
      throw usage("'" + t.file + "' is no output file: it must end in .npy, .npz, .csv, .pb or .png");
    if (const auto at = text.find('='); t.output.empty() && at != std::string::npos)
      throw usage("there is no output '" + text.substr(0, at) + "' to write to '" + text.substr(at + 1) +
                  "'" + suggestion(text.substr(0, at), outputs));
    if (t.output.empty() && !archive(t.file)) {
      if (outputs.size() != 1)
        throw usage("'" + text + "' can hold one output, there are " + std::to_string(outputs.size()) +
                    ": say NAME=" + text + ", or use .npz");
      t.output = outputs.front();
    }
    if (std::any_of(targets_.begin(), targets_.end(),
                    [&](const auto& other) { return other.file == t.file; }))
      throw usage("'" + t.file + "' is to be written twice");
    check_destination(t.file);
    targets_.push_back(std::move(t));
  }
}

void output_files::write(const named_values& results) const {
  for (const auto& t : targets_) {
    try {
      if (!t.output.empty() && !archive(t.file)) {
        writer_of(t.file)(t.file, results.at(t.output));
        continue;
      }
      std::map<std::string, value> arrays{results.begin(), results.end()};
      if (!t.output.empty())
        arrays = {{t.output, results.at(t.output)}};
      save_npz(t.file, arrays);
    } catch (const error& e) {
      const auto about = t.output.empty() ? std::string{} : "output '" + t.output + "': ";
      throw command_error{exit_code_of(e.code()), about + e.what()};
    }
  }
}

} // namespace sluice::tools
