#include "command_line.hpp"
#include "tiny_models.hpp"

#include <sluice/stream/file_bytes.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>

using namespace sluice;
using namespace sluice::tools;
using namespace sluice::test;

namespace {

/// The command in a folder with models, rules and devices; the user's own kernel times are there, too.
struct fixture : command_line {
  fixture() {
    setenv("XDG_CACHE_HOME", path("cache").c_str(), 1);
    write_file(path("rules.json"), R"({"rules": [{"op": "Add", "device": "sim:0"}]})");
    write_file(path("devices.json"), R"({"devices": {"sim:0": {"memory": "1MB", "rate": 4}}})");
    write_file(path("broken.json"), R"({"devices": )");
    write_file(path("odd.json"), R"({"what": "something else"})");
  }

  [[nodiscard]] bool says(const std::string& phrase) const {
    return output().find(phrase) != std::string::npos;
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(planning, fixture)

BOOST_AUTO_TEST_CASE(devices_are_listed_with_their_memory_and_what_is_not_there_with_the_reason) {
  BOOST_TEST((run({"devices", "--device", "sim:0=memory=512MiB,rate=4"}) == exit_code::success));
  BOOST_TEST(says("cpu:0"));
  BOOST_TEST(says("537 MB  its options"));
  BOOST_TEST(says("cuda cannot be used: "));
  BOOST_TEST((run({"devices", "--devices", "@devices.json", "--budget", "cpu:0=64MiB", "--json", "-"}) ==
              exit_code::success));
  BOOST_TEST(says("\"memory_bytes\": 67108864"));
  BOOST_TEST(says("\"memory_bytes\": 1000000"));
  BOOST_TEST(says("\"not_usable\""));
}

BOOST_AUTO_TEST_CASE(a_plan_is_shown_written_and_explained) {
  BOOST_TEST((run({"plan", "@sum.onnx", "--dim", "N=1000", "--dim", "M=1000", "--devices", "@devices.json",
                   "--placement", "@rules.json", "--html", "@plan.html", "--json", "@plan.json"}) ==
              exit_code::success));
  BOOST_TEST(says("estimated finish: "));
  BOOST_TEST(says("3 transfers, "));
  BOOST_TEST(says("sim:0   one at a time"));
  const auto page = read_file(path("plan.html"));
  BOOST_TEST(page.starts_with("<!doctype html>"));
  for (const auto* from_elsewhere : {"http:", "https:", "src=", "href=", "@import", "url("})
    BOOST_TEST(page.find(from_elsewhere) == std::string::npos);
  BOOST_TEST(read_file(path("plan.json")).find("\"device\": \"sim:0\"") != std::string::npos);

  BOOST_TEST((run({"plan", "@sum.onnx", "--log-placement"}) == exit_code::success));
  BOOST_TEST(says(": cpu:0, "));
}

BOOST_AUTO_TEST_CASE(kernels_are_measured_once_and_their_times_kept) {
  BOOST_TEST((run({"plan", "@sum.onnx", "--threads", "1"}) == exit_code::success));
  BOOST_TEST(says("1 formula"));
  BOOST_TEST((run({"plan", "@sum.onnx", "--threads", "1", "--measure"}) == exit_code::success));
  BOOST_TEST(says("1 measured"));
  BOOST_TEST((run({"plan", "@sum.onnx", "--threads", "1"}) == exit_code::success));
  BOOST_TEST(says("1 measured"));
  const auto kept = path("cache/sluice/kernels.json");
  BOOST_TEST(std::filesystem::exists(kept));
  BOOST_TEST((run({"plan", "@sum.onnx", "--threads", "1", "--profile", kept}) == exit_code::success));
  BOOST_TEST(says("1 measured"));
  // The user's own file is made anew if it is broken; another is not touched.
  write_file(kept, "certainly no JSON");
  BOOST_TEST((run({"plan", "@sum.onnx", "--threads", "1"}) == exit_code::success));
  BOOST_TEST(says("1 formula"));
}

BOOST_AUTO_TEST_CASE(every_wrong_plan_gives_one_sentence_and_its_exit_code) {
  using enum exit_code;
  const std::vector<wrong_line> lines{
      {{"devices", "spare"}, usage, "'spare' is an argument too many"},
      {{"devices", "--device", "sim"}, usage, "sim"},
      {{"devices", "--device", "sim:0=memory=lots"}, usage, "memory"},
      {{"devices", "--device", "sim:0=colour=red"}, usage, "colour"},
      {{"devices", "--device", "sim:0", "--device", "sim:0"}, usage, "sim:0"},
      {{"devices", "--device", "cuda:0"}, unsupported, "cuda"},
      {{"devices", "--device", "cpu:1=speed=3"}, usage, "a CPU has threads and memory"},
      {{"devices", "--devices", "@nowhere.json"}, bad_file, "nowhere.json"},
      {{"devices", "--devices", "@broken.json"}, usage, "broken.json"},
      {{"devices", "--budget", "sim:0=1MB"}, usage, "no device 'sim:0'"},
      {{"devices", "--json", "@no/d.json"}, bad_file, "d.json"},
      {{"plan"}, usage, "model is required"},
      {{"plan", "@absent.onnx"}, bad_file, "absent.onnx"},
      {{"plan", "@broken.onnx"}, bad_file, "broken.onnx"},
      {{"plan", "@odd.onnx"}, unsupported, "Nonsense"},
      {{"plan", "@model.onnx", "--budget", "cpu:0"}, usage, "not like sim:0=512MiB"},
      {{"plan", "@model.onnx", "--budget", "cpu=1MB"}, usage, "'cpu' has no number"},
      {{"plan", "@model.onnx", "--budget", "cpu:0=many"}, usage, "many"},
      {{"plan", "@model.onnx", "--budget", "sim:0=1MB"}, usage, "no device 'sim:0'"},
      {{"plan", "@model.onnx", "--budget", "cpu:0=1MB", "--budget", "cpu:0=2MB"}, usage, "given twice"},
      {{"plan", "@model.onnx", "--dim", "M=3"}, usage, "for --dim, but 'N'"},
      {{"plan", "@model.onnx", "--shape", "x"}, usage, "not like x=1x3x224x224"},
      {{"plan", "@model.onnx", "--shape", "z=3"}, usage, "no input 'z'"},
      {{"plan", "@model.onnx", "--shape", "x=axb"}, usage, "'axb'"},
      {{"plan", "@model.onnx", "--shape", "x=2x2"}, usage, "takes float32[N], not [2, 2]"},
      {{"plan", "@model.onnx", "--shape", "x=2", "--shape", "x=3"}, usage, "given twice"},
      {{"plan", "@sum.onnx", "--dim", "N=3", "--dim", "M=2"}, usage, "node Add"},
      {{"plan", "@sum.onnx", "--dim", "N=1000", "--budget", "cpu:0=1kB"}, failed, "no placement fits: cpu:0"},
      {{"plan", "@sum.onnx", "--placement", "@nowhere.json"}, bad_file, "nowhere.json"},
      {{"plan", "@sum.onnx", "--placement", "@broken.json"}, usage, "broken.json"},
      {{"plan", "@sum.onnx", "--placement", "@rules.json", "--strict"}, usage, "'sim:0'"},
      {{"plan", "@sum.onnx", "--profile", "@nowhere.json"}, bad_file, "nowhere.json"},
      {{"plan", "@sum.onnx", "--profile", "@odd.json"}, bad_file, "no file of kernel times"},
      {{"plan", "@sum.onnx", "--profile", "@broken.json"}, bad_file, "broken.json"},
      {{"plan", "@sum.onnx", "--explain", "nobody"}, usage, "no node 'nobody'"},
      {{"plan", "@sum.onnx", "--html", "@no/p.html"}, bad_file, "p.html"},
      {{"plan", "@sum.onnx", "--json", "@no/p.json"}, bad_file, "p.json"},
  };
  for (const auto& line : lines) {
    const auto [code, sentence] = fail(line.words);
    BOOST_TEST_CONTEXT(this->line() << " says: " << sentence) {
      BOOST_TEST(static_cast<int>(code) == static_cast<int>(line.code));
      BOOST_TEST((sentence.find(line.says) != std::string::npos));
      BOOST_TEST((sentence.find('\n') == std::string::npos));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
