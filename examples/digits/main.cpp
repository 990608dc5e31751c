// Reads 28,000 handwritten digits in one call on a device that has a twentieth of the memory which they need
// at once, and writes what they show.

#include "images.hpp"

#include <sluice/devices/quantity.hpp>
#include <sluice/sluice.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <exception>
#include <iomanip>
#include <iostream>
#include <optional>

namespace fs = std::filesystem;

namespace {

constexpr int failed = 1, usage = 2, bad_file = 3;
constexpr std::uint64_t seed = 20;

struct arguments {
  fs::path model;
  fs::path input;
  fs::path output = "submission.csv";
  std::string budget = "1/20";
  std::int64_t images = 28'000;
  bool explain = false;
};

/// Bytes: as they are, or a share of what one piece would need.
std::size_t budget_of(const std::string& text, std::uint64_t need) {
  if (!text.starts_with("1/"))
    return sluice::parse_bytes(text);
  const auto share = sluice::parse_count(text.substr(2), 1'000'000);
  if (share == 0)
    throw sluice::error{sluice::errc::invalid_argument, "a budget of '" + text + "' has no meaning"};
  return need / share;
}

std::string megabytes(std::uint64_t bytes) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / 1e6 << " MB";
  return text.str();
}

std::vector<std::int64_t> labels_of(const sluice::value& scores) {
  const auto all = scores.tensor().data<float>();
  const auto classes = static_cast<std::size_t>(scores.tensor().shape()[1]);
  std::vector<std::int64_t> labels;
  for (std::size_t at = 0; at < all.size(); at += classes) {
    const auto row = all.subspan(at, classes);
    labels.push_back(std::max_element(row.begin(), row.end()) - row.begin());
  }
  return labels;
}

void report_accuracy(std::span<const std::int64_t> read, std::span<const std::uint8_t> truth) {
  if (truth.empty())
    return;
  std::size_t right = 0;
  for (std::size_t i = 0; i < read.size(); ++i)
    right += read[i] == truth[i] ? 1 : 0;
  std::cout << right << " of " << read.size() << " right (" << std::fixed << std::setprecision(1)
            << 100. * static_cast<double>(right) / static_cast<double>(read.size()) << " %)\n";
}

void predict(const arguments& a) {
  const auto model = a.model.empty() ? digits::find_file("digits.onnx") : a.model;
  const auto input = a.input.empty() ? digits::find_file("sample_digits.npz") : a.input;
  auto given = digits::load_images(input);
  // The sample is small: it is turned and shifted until there are enough. A file of one's own is taken as it
  // is.
  if (a.input.empty())
    given = digits::augmented(given, a.images, seed);
  const auto count = given.pixels.tensor().shape()[0];

  const auto need = sluice::engine{}.load(model).memory_needed({{"image", given.pixels}});
  const auto budget = budget_of(a.budget, need);
  std::cout << count << " images through " << model.string() << ": " << megabytes(need)
            << " in one piece; the device has " << megabytes(budget) << '\n';

  sluice::engine engine{{.memory_budget = {{"cpu:0", budget}}}};
  auto classifier = engine.load(model);
  const auto start = std::chrono::steady_clock::now();
  const auto results = classifier.run({{"image", given.pixels}});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;

  const auto labels = labels_of(results["scores"]);
  digits::save_labels(a.output, labels);
  std::cout << std::fixed << std::setprecision(2) << took.count() << " s, " << std::setprecision(0)
            << static_cast<double>(count) / took.count() << " images/s; peak "
            << megabytes(classifier.memory_peak()) << '\n';
  if (a.explain)
    std::cout << classifier.explain_cuts();
  report_accuracy(labels, given.labels);
  std::cout << "labels: " << a.output.string() << '\n';
}

int failure(int status, const std::string& sentence) {
  std::cerr << "sluice_digits: " << sentence << '\n';
  return status;
}

} // namespace

int main(int argc, char** argv) try {
  arguments a;
  CLI::App app{"Reads handwritten digits in one call within a budget of memory and writes ImageId,Label.",
               "sluice_digits"};
  app.add_option("--input", a.input,
                 "Images: .npz, .npy or .csv; the sample, turned and shifted, if none is given");
  app.add_option("--output", a.output, "Where the labels go")->capture_default_str();
  app.add_option("--budget", a.budget, "Memory of the device: \"64MB\", or a share of what one piece needs")
      ->capture_default_str();
  app.add_option("--images", a.images, "How many images are made from the sample")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000'000}))
      ->capture_default_str();
  app.add_option("--model", a.model, "The classifier; digits.onnx of this example if none is given");
  app.add_flag("--explain", a.explain, "Tell how the request was cut");
  app.footer(
      "Exit status: 0 it went well, 1 the run failed, 2 a wrong option, 3 a file cannot be read or written.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return failure(usage, std::string{e.what()} + " (see sluice_digits --help)");
  }
  predict(a);
  return std::cout.flush() ? 0 : failure(bad_file, "standard output cannot be written");
} catch (const sluice::error& e) {
  const auto of_run = e.code() == sluice::errc::kernel_failed || e.code() == sluice::errc::out_of_memory;
  return failure(of_run ? failed : bad_file, e.what());
} catch (const std::exception& e) {
  return failure(bad_file, e.what());
}
