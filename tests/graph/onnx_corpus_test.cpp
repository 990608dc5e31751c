#include <sluice/graph/onnx_import.hpp>

#include <tests/graph/any_operator.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>

namespace {

namespace fs = std::filesystem;

const fs::path onnx_data = "/usr/share/libonnx-testdata/data";

BOOST_AUTO_TEST_SUITE(onnx_corpus)

BOOST_AUTO_TEST_CASE(every_model_of_onnx_test_data_is_read, *boost::unit_test::precondition([](auto) {
  return fs::exists(onnx_data);
})) {
  const auto operators = sluice::test::any_operator();
  std::size_t read = 0;
  for (const auto& entry : fs::recursive_directory_iterator{onnx_data}) {
    if (entry.path().extension() != ".onnx")
      continue;
    BOOST_TEST_CONTEXT(entry.path().parent_path().filename().string()) {
      try {
        BOOST_TEST(!sluice::load_onnx(entry.path(), operators)->outputs().empty());
        ++read;
      } catch (const std::exception& e) {
        BOOST_ERROR(e.what());
      }
    }
  }
  BOOST_TEST(read == 1072);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
