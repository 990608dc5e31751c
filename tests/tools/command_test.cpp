#include "command_line.hpp"
#include "tiny_models.hpp"

#include <sluice/graph/onnx_tensor.hpp>
#include <sluice/graph/tensor.hpp>
#include <sluice/stream/file_bytes.hpp>
#include <sluice/stream/npy.hpp>

#include <boost/test/unit_test.hpp>

using namespace sluice;
using namespace sluice::tools;
using test::command_line;
using test::wrong_line;

BOOST_AUTO_TEST_SUITE(command)

BOOST_AUTO_TEST_CASE(help_and_version_are_not_errors) {
  command_line c;
  for (const auto& words : std::vector<std::vector<std::string>>{{"--help"},
                                                                 {"run", "--help"},
                                                                 {"inspect", "-h"},
                                                                 {"bench", "--help"},
                                                                 {"test", "--help"},
                                                                 {"devices", "--help"},
                                                                 {"plan", "--help"}}) {
    BOOST_TEST((c.run(words) == exit_code::success));
    BOOST_TEST(c.output().find("Exit status:") != std::string::npos);
  }
  BOOST_TEST((c.run({"--version"}) == exit_code::success));
  BOOST_TEST(c.output().starts_with("sluice "));
}

BOOST_AUTO_TEST_CASE(a_model_is_run_and_its_outputs_shown_or_written) {
  command_line c;
  BOOST_TEST((c.run({"run", "@model.onnx", "--input", "x=@two.npy"}) == exit_code::success));
  BOOST_TEST(c.output() == "y  float32[2]\n  1 2\n");
  BOOST_TEST((c.run({"run", "@model.onnx", "-i", "3,4,5", "--repeat", "3", "-o", "@out.npy"}) ==
              exit_code::success));
  BOOST_TEST(c.output().empty());
  BOOST_TEST(load_npy(c.path("out.npy")).tensor().data<float>()[2] == 5.0f);
  BOOST_TEST((c.run({"run", "@model.onnx", "-i", "3,4", "--fetch", "x"}) == exit_code::success));
  BOOST_TEST(c.output() == "x  float32[2]\n  3 4\n");
}

BOOST_AUTO_TEST_CASE(a_trace_is_written_where_it_is_asked_for) {
  command_line c;
  BOOST_TEST((c.run({"run", "@model.onnx", "-i", "1", "--trace", "@trace.json"}) == exit_code::success));
  BOOST_TEST(read_file(c.path("trace.json")).find("traceEvents") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written_is_refused_before_the_work_and_leaves_nothing) {
  command_line c;
  std::filesystem::create_directory(c.path("folder.npy"));
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"run", "@model.onnx", "-i", "1,2", "-o", "@y.npy", "--trace", "@no/t.json"},
           {"run", "@model.onnx", "-i", "1,2", "-o", "@y.npy", "-o", "@no/y.csv"},
           {"run", "@model.onnx", "-i", "1,2", "-o", "@y.npy", "-o", "@folder.npy"}}) {
    BOOST_TEST((c.fail(words).first == exit_code::bad_file));
    BOOST_TEST(!std::filesystem::exists(c.path("y.npy")));
  }
}

BOOST_AUTO_TEST_CASE(output_that_cannot_be_written_is_an_error_of_every_subcommand) {
  command_line c;
  for (const auto& words : std::vector<std::vector<std::string>>{{"--help"},
                                                                 {"--version"},
                                                                 {"run", "@model.onnx", "-i", "1"},
                                                                 {"inspect", "@model.onnx"},
                                                                 {"bench", "@model.onnx", "--runs", "1"},
                                                                 {"devices"},
                                                                 {"plan", "@model.onnx"},
                                                                 {"operators"}}) {
    c.lose_output();
    const auto [code, sentence] = c.fail(words);
    BOOST_TEST_CONTEXT(c.line()) {
      BOOST_TEST((code == exit_code::bad_file));
      BOOST_TEST(sentence == "standard output cannot be written");
    }
  }
}

BOOST_AUTO_TEST_CASE(the_names_of_values_that_can_be_fetched_are_shown) {
  command_line c;
  BOOST_TEST((c.run({"inspect", "@sum.onnx", "--nodes"}) == exit_code::success));
  BOOST_TEST(c.output().find("y float32[") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_file_with_an_equals_sign_in_its_name_needs_no_name_of_an_input) {
  command_line c;
  save_npy(c.path("a=b.npy"), tensor::of<float>({1}, {7}));
  BOOST_TEST((c.run({"run", "@model.onnx", "-i", "@a=b.npy"}) == exit_code::success));
  BOOST_TEST(c.output() == "y  float32[1]\n  7\n");
}

BOOST_AUTO_TEST_CASE(a_model_is_inspected_even_if_it_cannot_be_run) {
  command_line c;
  BOOST_TEST((c.run({"inspect", "@model.onnx", "--nodes", "--dot", "@graph.dot"}) == exit_code::success));
  BOOST_TEST(c.output().find("Identity") != std::string::npos);
  BOOST_TEST(read_file(c.path("graph.dot")).starts_with("digraph"));
  BOOST_TEST((c.run({"inspect", "@odd.onnx"}) == exit_code::success));
  BOOST_TEST(c.output().find("lacks these operators") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_model_is_measured) {
  command_line c;
  BOOST_TEST((c.run({"bench", "@model.onnx", "--runs", "20", "--callers", "2", "--dim", "N=8", "--json",
                     "-"}) == exit_code::success));
  BOOST_TEST(c.output().find("\"runs\": 20") != std::string::npos);
  BOOST_TEST(c.output().find("\"p99\"") != std::string::npos);
  BOOST_TEST((c.run({"bench", "@model.onnx", "--runs", "20", "--in-flight", "3", "--json", "-"}) ==
              exit_code::success));
  BOOST_TEST(c.output().find("\"in_flight\": 3") != std::string::npos);
  BOOST_TEST(c.output().find("\"runs\": 20") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(test_folders_are_run_and_failures_change_the_exit_code) {
  command_line c;
  const value one = tensor::of<float>({1}, {1});
  std::filesystem::create_directories(c.path("suite/a/test_data_set_0"));
  write_file(c.path("suite/a/model.onnx"), test::identity_model());
  write_onnx_value(c.path("suite/a/test_data_set_0/input_0.pb"), one);
  write_onnx_value(c.path("suite/a/test_data_set_0/output_0.pb"), one);
  BOOST_TEST((c.run({"test", "@suite", "--jobs", "2"}) == exit_code::success));
  BOOST_TEST(c.output() == "1 case: 1 passed, 0 failed, 0 unsupported\n");
  write_onnx_value(c.path("suite/a/test_data_set_0/output_0.pb"), tensor::of<float>({1}, {2}));
  BOOST_TEST((c.run({"test", "@suite", "--json", "-"}) == exit_code::failed));
  BOOST_TEST(c.output().find("\"status\": \"failed\"") != std::string::npos);
  BOOST_TEST((c.run({"test", "@suite", "--rtol", "1"}) == exit_code::success));
}

BOOST_AUTO_TEST_CASE(every_wrong_line_gives_one_sentence_and_its_exit_code) {
  using enum exit_code;
  const std::vector<wrong_line> lines{
      {{}, usage, "subcommand"},
      {{"fly"}, usage, "no subcommand 'fly'"},
      {{"inspct", "@model.onnx"}, usage, "did you mean 'inspect'?"},
      {{"run", "@model.onnx", "spare"}, usage, "'spare' is an argument too many"},
      {{"run"}, usage, "model is required"},
      {{"run", "@model.onnx", "--inptu", "x=1"}, usage, "no option '--inptu'; did you mean '--input'?"},
      {{"run", "@model.onnx", "--repeat"}, usage, "--repeat needs a value"},
      {{"run", "@model.onnx", "--repeat", "-1"}, usage, "--repeat: '-1' is not a whole number"},
      {{"run", "@model.onnx", "--repeat", "1e3"}, usage, "--repeat: '1e3' is not a whole number"},
      {{"run", "@model.onnx", "--repeat", "99999999999999999999"},
       usage,
       "--repeat: '99999999999999999999' is"},
      {{"run", "@model.onnx", "--repeat", "2", "--repeat", "3"}, usage, "--repeat is given more than once"},
      {{"run", "@model.onnx", "--threads", "-1"}, usage, "--threads: '-1'"},
      {{"run", "@model.onnx", "--threads", "99999"}, usage, "from 0 to 1024"},
      {{"run", "@model.onnx", "--threads", "1", "--threads", "2"},
       usage,
       "--threads is given more than once"},
      {{"run", "@model.onnx", "--seed", "-1"}, usage, "--seed: '-1'"},
      {{"run", "@model.onnx", "--scale", "nan"}, usage, "--scale: 'nan' is not a number"},
      {{"run", "@model.onnx", "--deviation", "1,0"}, usage, "--deviation: '0'"},
      {{"run", "@model.onnx", "--trace", ""}, usage, "--trace: the name of the file is empty"},
      {{"run", ""}, usage, "the name of the file is empty"},
      {{"run", "@model.onnx", "--repeat", "0"}, usage, "--repeat"},
      {{"run", "@model.onnx", "--threads", "many"}, usage, "--threads"},
      {{"run", "@model.onnx", "--log-level", "loud"}, usage, "--log-level"},
      {{"run", "@model.onnx", "--dim", "N"}, usage, "not like N=8"},
      {{"run", "@model.onnx", "--dim", "N=-1"}, usage, "not like N=8"},
      {{"run", "@model.onnx", "--dim", "N=1", "--dim", "N=2"}, usage, "'N' is given twice"},
      {{"run", "@model.onnx", "--dim", "M=1"}, usage, "for --dim, but 'N'"},
      {{"inspect", "@model.onnx", "--dim", "M=1"}, usage, "for --dim, but 'N'"},
      {{"run", "@model.onnx"}, usage, "no value for input 'x'"},
      {{"run", "@model.onnx", "-i", "z=1"}, usage, "no input 'z'"},
      {{"run", "@model.onnx", "-i", "x="}, usage, "input 'x': its source is empty"},
      {{"run", "@model.onnx", "-i", "x=random:axb"}, usage, "neither a shape"},
      {{"run", "@model.onnx", "-i", "x=@ints.npy"}, usage, "not int64[2]"},
      {{"run", "@model.onnx", "-i", "x=random:2x2"}, usage, "not float32[2, 2]"},
      {{"run", "@model.onnx", "-i", "x=nowhere.npy"}, bad_file, "nowhere.npy"},
      {{"run", "@model.onnx", "-i", "x=@broken.npy"}, bad_file, "not a .npy file"},
      {{"run", "@model.onnx", "-i", "1,2", "-o", "@y.txt"}, usage, "y.txt"},
      {{"run", "@model.onnx", "-i", "1,2", "-o", "@no/y.npy"}, bad_file, "no/y.npy"},
      {{"run", "@model.onnx", "-i", "1,2", "--fetch", "q"}, usage, "no value 'q'"},
      {{"run", "@model.onnx", "-i", "1,2", "-o", "@y.npy", "-o", "@y.npy"}, usage, "written twice"},
      {{"run", "@sum.onnx", "-i", "a=1,2,3", "-i", "b=1,2"}, usage, "node Add"},
      {{"run", "@model.onnx", "-i", "1,2", "--trace", "@no/t.json"}, bad_file, "no/t.json"},
      {{"run", "@absent.onnx", "-i", "1"}, bad_file, "absent.onnx"},
      {{"run", "@broken.onnx", "-i", "1"}, bad_file, "broken.onnx"},
      {{"run", "@odd.onnx", "-i", "1"}, unsupported, "Nonsense"},
      {{"inspect", "@model.onnx", "--dot", "@no/g.dot"}, bad_file, "g.dot"},
      {{"bench", "@model.onnx", "--seconds", "-1"}, usage, "--seconds"},
      {{"bench", "@model.onnx", "--seconds", "nan"}, usage, "--seconds: 'nan'"},
      {{"bench", "@model.onnx", "--runs", "0"}, usage, "--runs: '0'"},
      {{"bench", "@model.onnx", "--warm-up", "-1"}, usage, "--warm-up: '-1'"},
      {{"test", "@", "--rtol", "nan"}, usage, "--rtol: 'nan'"},
      {{"bench", "@model.onnx", "--runs", "1", "--json", "@no/r.json"}, bad_file, "r.json"},
      {{"bench", "@model.onnx", "--callers", "2", "--in-flight", "2"}, usage, "--in-flight"},
      {{"test"}, usage, "folder is required"},
      {{"test", "@nowhere"}, bad_file, "nowhere"},
      {{"test", "@model.onnx"}, bad_file, "model.onnx"},
  };
  command_line c;
  for (const auto& line : lines) {
    const auto [code, sentence] = c.fail(line.words);
    BOOST_TEST_CONTEXT(c.line() << " says: " << sentence) {
      BOOST_TEST(static_cast<int>(code) == static_cast<int>(line.code));
      BOOST_TEST((sentence.find(line.says) != std::string::npos));
      BOOST_TEST((sentence.find('\n') == std::string::npos));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
