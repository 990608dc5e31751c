#pragma once

#include "tiny_models.hpp"

#include <tools/arguments.hpp>

#include <sluice/graph/tensor.hpp>
#include <sluice/stream/file_bytes.hpp>
#include <sluice/stream/npy.hpp>

#include <tests/support/temporary_folder.hpp>

#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::test {

/// What the command does with some words, in a folder with a few files.
class command_line {
public:
  command_line() {
    write_file(path("model.onnx"), identity_model());
    write_file(path("sum.onnx"), sum_model());
    write_file(path("odd.onnx"), nonsense_model());
    write_file(path("broken.onnx"), "certainly no model");
    write_file(path("broken.npy"), "no array");
    save_npy(path("two.npy"), tensor::of<float>({2}, {1, 2}));
    save_npy(path("ints.npy"), tensor::of<std::int64_t>({2}, {1, 2}));
  }

  [[nodiscard]] std::string path(std::string_view name) const { return (folder_ / name).string(); }

  /// "@" at the start of a word, or behind its "=", stands for the folder.
  tools::exit_code run(std::vector<std::string> words) {
    std::vector<const char*> argv{"sluice"};
    for (auto& w : words) {
      if (const auto at = w.find('@'); at != std::string::npos)
        w = w.substr(0, at) + path(w.substr(at + 1));
      argv.push_back(w.c_str());
    }
    output_.str({});
    struct restore {
      std::streambuf* old;
      ~restore() { std::cout.rdbuf(old); } // which forgets failures, too
    } const back{std::cout.rdbuf(std::exchange(output_lost_, false) ? nullptr : output_.rdbuf())};
    return tools::run_command_line(static_cast<int>(argv.size()), argv.data());
  }

  /// How the command ends that must fail, and what it says.
  std::pair<tools::exit_code, std::string> fail(const std::vector<std::string>& words) {
    line_.clear();
    for (const auto& w : words)
      line_ += w + ' ';
    try {
      return {run(words), "nothing"};
    } catch (const tools::command_error& e) {
      return {e.code(), e.what()};
    } catch (const error& e) {
      return {tools::exit_code_of(e.code()), e.what()};
    }
  }

  /// Makes standard output fail for the next run.
  void lose_output() { output_lost_ = true; }

  [[nodiscard]] const std::string& line() const { return line_; }
  [[nodiscard]] std::string output() const { return output_.str(); }

private:
  temporary_folder folder_;
  std::ostringstream output_;
  bool output_lost_ = false;
  std::string line_;
};

struct wrong_line {
  std::vector<std::string> words;
  tools::exit_code code;
  std::string says;
};

} // namespace sluice::test
