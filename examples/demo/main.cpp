// The main demo: real speech flows frame by frame through a model of voice activity that carries its state,
// and at the same time real handwritten digits flow, several in flight, through a classifier.

#include "board.hpp"
#include "digits.hpp"
#include "speech.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <csignal>
#include <exception>
#include <fstream>
#include <future>
#include <iomanip>
#include <iostream>
#include <memory>
#include <unistd.h>

namespace fs = std::filesystem;

namespace {

constexpr int failed = 1, usage = 2, bad_file = 3, interrupted = 130;

std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free); // a signal handler may set it

/// The first Ctrl-C ends the streams, what is in flight is finished; a second one ends the program at once.
void stop_on_interrupt() {
  struct sigaction on_interrupt {};
  on_interrupt.sa_handler = [](int) { stop = true; };
  on_interrupt.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &on_interrupt, nullptr);
  sigaction(SIGTERM, &on_interrupt, nullptr);
}

struct arguments {
  fs::path assets = "build/assets";
  fs::path digits = "examples/digits";
  fs::path traces;
  double speed = 0;
};

/// The speech half, or why there is none.
std::unique_ptr<demo::speech_half> open_speech(sluice::engine& engine, const arguments& a) {
  const auto model = a.assets / "silero_vad.onnx";
  const auto sound = a.assets / "speech.wav";
  for (const auto& file : {model, sound})
    if (!fs::exists(file)) {
      std::cout << "speech: left out, because " << file.string()
                << " is not there (tools/fetch_assets gets it)\n";
      return {};
    }
  auto half = std::make_unique<demo::speech_half>(engine, model, sound);
  std::cout << "speech: " << sound.string() << ", " << std::setprecision(3) << half->seconds()
            << " s, through " << model.string() << '\n';
  return half;
}

std::unique_ptr<demo::digits_half> open_digits(sluice::engine& engine, const arguments& a) {
  const auto model = a.digits / "digits.onnx";
  const auto all = a.assets / "digits.npz";
  const auto archive = fs::exists(all) ? all : a.digits / "sample_digits.npz";
  auto half = std::make_unique<demo::digits_half>(engine, model, archive);
  std::cout << "digits: " << half->total() << " that the model was not trained with, of " << archive.string()
            << ", through " << model.string() << '\n';
  return half;
}

void write_trace(const sluice::session& s, const fs::path& folder) {
  const auto file = folder / (s.name() + "_trace.json");
  std::ofstream out{file};
  s.write_trace(out);
  if (!out.flush())
    throw sluice::error{sluice::errc::io_failed, file.string() + ": cannot be written"};
  std::cout << "trace: " << file.string() << ", the last " << demo::traced_items << " of " << s.name()
            << ", for Perfetto or chrome://tracing\n";
}

int run(const arguments& a) {
  sluice::engine engine;
  const auto digits = open_digits(engine, a);
  const auto speech = open_speech(engine, a);
  std::cout << std::endl;
  const auto trace = !a.traces.empty();
  if (trace)
    fs::create_directories(a.traces);

  stop_on_interrupt();
  demo::measured heard, read;
  {
    demo::board board{std::cout, isatty(STDOUT_FILENO) == 1};
    std::future<demo::measured> listening;
    if (speech)
      listening = std::async(std::launch::async, [&] { return speech->run(board, stop, a.speed, trace); });
    read = digits->run(board, stop, trace);
    if (speech)
      heard = listening.get();
  }

  std::cout << '\n';
  if (stop)
    std::cout << "interrupted; until then:\n";
  if (speech)
    std::cout << "speech: " << speech->segments().size() << " segments; " << describe(heard, "frames")
              << '\n';
  std::cout << "digits: " << digits->right() << " of " << digits->done() << " right; "
            << describe(read, "digits") << '\n';
  if (trace && !stop) {
    if (speech)
      write_trace(speech->session(), a.traces);
    write_trace(digits->session(), a.traces);
  }
  return stop ? interrupted : 0;
}

/// What is wrong with a number, as CLI11 wants it said; CLI11's own check shows the limits of a double.
std::string not_negative(const std::string& text) {
  double x = 0;
  const auto* end = text.data() + text.size();
  const auto [at, problem] = std::from_chars(text.data(), end, x);
  return problem == std::errc{} && at == end && x >= 0 && std::isfinite(x)
             ? std::string{}
             : "'" + text + "' is not a number from 0";
}

int failure(int status, const std::string& sentence) {
  std::cerr << "sluice_demo: " << sentence << '\n';
  return status;
}

} // namespace

int main(int argc, char** argv) try {
  arguments a;
  CLI::App app{"Streams real speech and real handwritten digits through two models and shows what they say.",
               "sluice_demo"};
  app.add_option("--assets", a.assets,
                 "Folder with silero_vad.onnx, speech.wav and digits.npz, as "
                 "tools/fetch_assets makes it")
      ->capture_default_str();
  app.add_option("--digits", a.digits, "Folder with digits.onnx and sample_digits.npz")
      ->capture_default_str();
  app.add_option("--traces", a.traces, "Write a trace of each model's last firings into this folder");
  app.add_option("--speed", a.speed,
                 "How fast the speech is fed: 1 is as it was spoken, 0 as fast as it can go")
      ->check(CLI::Validator{not_negative, ""})
      ->capture_default_str();
  app.footer(
      "Ctrl-C ends the streams, finishes what is in flight and prints what there is.\n"
      "Exit status: 0 it went well, 1 a run failed, 2 a wrong option, 3 a file cannot be read or written,\n"
      "130 after Ctrl-C.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return failure(usage, std::string{e.what()} + " (see sluice_demo --help)");
  }
  const auto status = run(a);
  if (!std::cout.flush())
    return failure(bad_file, "standard output cannot be written");
  return status;
} catch (const sluice::error& e) {
  return failure(e.code() == sluice::errc::kernel_failed ? failed : bad_file, e.what());
} catch (const std::exception& e) {
  return failure(bad_file, e.what());
}
