#include <sluice/graph/collections.hpp>
#include <sluice/graph/onnx_import.hpp>
#include <sluice/graph/onnx_tensor.hpp>
#include <sluice/graph/tensor.hpp>

#include <tests/graph/any_operator.hpp>
#include <tests/graph/onnx_models.hpp>

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <numeric>

using namespace sluice;
using namespace sluice::test;

namespace {

value weight_of(const onnx::TensorProto& t, const std::filesystem::path& folder = {}) {
  auto m = model_with("g (float[1] x) => (float[1] y) { y = Sum(x, w) }");
  *m.mutable_graph()->add_initializer() = t;
  m.mutable_graph()->mutable_initializer(0)->set_name("w");
  const auto g = load_onnx(bytes_of(m), any_operator(), {}, folder);
  return g->at_edge(g->find_edge("w")).constant;
}

onnx::TensorProto message(int type, std::initializer_list<std::int64_t> dims) {
  onnx::TensorProto t;
  t.set_data_type(type);
  for (const auto d : dims)
    t.add_dims(d);
  return t;
}

template <class T>
void check(const onnx::TensorProto& t, const std::vector<T>& expected) {
  const auto w = weight_of(t);
  BOOST_TEST_CONTEXT(describe(w)) {
    const auto elements = w.tensor().data<T>();
    BOOST_REQUIRE(elements.size() == expected.size());
    for (std::size_t i = 0; i < elements.size(); ++i)
      BOOST_CHECK(elements[i] == expected[i]);
  }
}

/// The same elements written raw.
template <class T>
onnx::TensorProto raw(const std::vector<T>& elements) {
  auto t = message(static_cast<int>(element_type_of<T>), {static_cast<std::int64_t>(elements.size())});
  t.set_raw_data(elements.data(), elements.size() * sizeof(T));
  return t;
}

template <class T>
void check_raw(const std::vector<T>& elements) {
  check(raw(elements), elements);
}

template <class T>
void check_int32_field(std::initializer_list<int> written, const std::vector<T>& expected) {
  auto t = message(static_cast<int>(element_type_of<T>), {static_cast<std::int64_t>(expected.size())});
  for (const auto x : written)
    t.add_int32_data(x);
  check(t, expected);
}

void add_external(onnx::TensorProto& t, const char* key, const std::string& entry) {
  auto& e = *t.add_external_data();
  e.set_key(key);
  e.set_value(entry);
  t.set_data_location(onnx::TensorProto::EXTERNAL);
}

} // namespace

BOOST_AUTO_TEST_SUITE(onnx_weights)

BOOST_AUTO_TEST_CASE(typed_fields_of_every_element_type_are_read) {
  check_int32_field<std::int8_t>({-128, 127}, {-128, 127});
  check_int32_field<std::uint8_t>({0, 255}, {0, 255});
  check_int32_field<std::int16_t>({-32768, 32767}, {-32768, 32767});
  check_int32_field<std::uint16_t>({0, 65535}, {0, 65535});
  check_int32_field<std::int32_t>({-7, 7}, {-7, 7});
  check_int32_field<float16>({0x3c00, 0xc000}, {float16{1.0f}, float16{-2.0f}});
  check_int32_field<bfloat16>({0x3f80, 0xc000}, {bfloat16{1.0f}, bfloat16{-2.0f}});
  const auto flags = weight_of([] {
    auto t = message(onnx::TensorProto::BOOL, {3});
    t.add_int32_data(0), t.add_int32_data(1), t.add_int32_data(7);
    return t;
  }());
  BOOST_TEST(flags.tensor().data<bool>()[2]);
  BOOST_TEST(!flags.tensor().data<bool>()[0]);

  auto f = message(onnx::TensorProto::FLOAT, {2});
  f.add_float_data(1.5f), f.add_float_data(-0.0f);
  check<float>(f, {1.5f, -0.0f});
  auto d = message(onnx::TensorProto::DOUBLE, {1});
  d.add_double_data(1e300);
  check<double>(d, {1e300});
  auto i = message(onnx::TensorProto::INT64, {1});
  i.add_int64_data(std::int64_t{-1} << 62);
  check<std::int64_t>(i, {std::int64_t{-1} << 62});
  auto u = message(onnx::TensorProto::UINT64, {1});
  u.add_uint64_data(~std::uint64_t{0});
  check<std::uint64_t>(u, {~std::uint64_t{0}});
  auto u32 = message(onnx::TensorProto::UINT32, {1});
  u32.add_uint64_data(~std::uint32_t{0});
  check<std::uint32_t>(u32, {~std::uint32_t{0}});
  auto c = message(onnx::TensorProto::COMPLEX64, {1});
  c.add_float_data(1), c.add_float_data(2);
  check<std::complex<float>>(c, {{1, 2}});
  auto z = message(onnx::TensorProto::COMPLEX128, {1});
  z.add_double_data(3), z.add_double_data(4);
  check<std::complex<double>>(z, {{3, 4}});
  auto s = message(onnx::TensorProto::STRING, {2});
  s.add_string_data("one"), s.add_string_data(std::string{"t\0o", 3});
  check<std::string>(s, {"one", std::string{"t\0o", 3}});
}

BOOST_AUTO_TEST_CASE(raw_data_of_every_element_type_is_read) {
  check_raw<float>({1, -2});
  check_raw<double>({1, -2});
  check_raw<std::int8_t>({1, -2});
  check_raw<std::uint8_t>({1, 200});
  check_raw<std::int16_t>({1, -2});
  check_raw<std::uint16_t>({1, 60000});
  check_raw<std::int32_t>({1, -2});
  check_raw<std::uint32_t>({1, 4'000'000'000u});
  check_raw<std::int64_t>({1, -2});
  check_raw<std::uint64_t>({1, ~std::uint64_t{0}});
  check_raw<float16>({float16{0.5f}});
  check_raw<bfloat16>({bfloat16{0.5f}});
  check_raw<std::complex<float>>({{1, 2}});
  check_raw<std::complex<double>>({{1, 2}});
  auto b = message(onnx::TensorProto::BOOL, {3});
  b.set_raw_data(std::string{"\0\1\7", 3}); // any byte but zero is true, and becomes a proper bool
  const auto flags = weight_of(b);
  for (const auto flag : flags.tensor().data<bool>().subspan(1)) {
    unsigned char byte = 0;
    std::memcpy(&byte, &flag, 1);
    BOOST_TEST(byte == 1);
  }
}

BOOST_AUTO_TEST_CASE(scalars_and_empty_tensors_are_read) {
  auto scalar = message(onnx::TensorProto::FLOAT, {});
  scalar.add_float_data(4);
  BOOST_TEST(describe(weight_of(scalar)) == "float32[]");
  BOOST_TEST(describe(weight_of(message(onnx::TensorProto::FLOAT, {0, 3}))) == "float32[0, 3]");
}

BOOST_AUTO_TEST_CASE(large_raw_data_is_not_copied_from_the_message) {
  std::vector<float> elements(100'000);
  std::iota(elements.begin(), elements.end(), 0.0f);
  const auto w = weight_of(raw(elements));
  BOOST_TEST(!w.tensor().owns_elements());
  BOOST_TEST(w.tensor().data<float>()[99'999] == 99'999);
}

BOOST_AUTO_TEST_CASE(sparse_initializers_become_dense) {
  const auto sparse = [](std::initializer_list<std::int64_t> dims, std::vector<std::int64_t> indices,
                         bool flat) {
    auto m = model_with("g (float[1] x) => (float[1] y) { y = Sum(x, w) }");
    auto& s = *m.mutable_graph()->add_sparse_initializer();
    for (const auto d : dims)
      s.add_dims(d);
    *s.mutable_values() = raw(std::vector<float>{5, 6});
    s.mutable_values()->set_name("w");
    *s.mutable_indices() = raw(indices);
    if (!flat) {
      s.mutable_indices()->clear_dims();
      s.mutable_indices()->add_dims(2);
      s.mutable_indices()->add_dims(static_cast<std::int64_t>(dims.size()));
    }
    const auto g = load_onnx(bytes_of(m), any_operator());
    return g->at_edge(g->find_edge("w")).constant;
  };
  const auto check_dense = [](const value& w) {
    const std::vector<float> expected{0, 5, 0, 0, 0, 6};
    BOOST_TEST(describe(w) == "float32[2, 3]");
    BOOST_TEST(w.tensor().data<float>() == expected, boost::test_tools::per_element());
  };
  check_dense(sparse({2, 3}, {1, 5}, true));
  check_dense(sparse({2, 3}, {0, 1, 1, 2}, false));
  BOOST_CHECK_EXCEPTION(sparse({2, 3}, {1, 6}, true), error, says(errc::invalid_model, {"'w'", "outside"}));
  BOOST_CHECK_EXCEPTION(sparse({2, 3}, {0, 1, 1, -1}, false), error,
                        says(errc::invalid_model, {"'w'", "outside"}));
  BOOST_CHECK_EXCEPTION(sparse({1 << 20, 1 << 20}, {1, 5}, true), error,
                        says(errc::unsupported, {"'w'", "dense"}));
}

BOOST_AUTO_TEST_CASE(external_data_is_shared_with_the_file_where_it_is_aligned) {
  const temporary_folder folder;
  std::vector<float> elements(50'000);
  std::iota(elements.begin(), elements.end(), 0.0f);
  std::vector<std::byte> content(2 + elements.size() * sizeof(float));
  std::memcpy(content.data(), elements.data(), content.size() - 2);
  write(folder / "weights.bin", content);

  auto whole = message(onnx::TensorProto::FLOAT, {50'000});
  add_external(whole, "location", "weights.bin");
  const auto shared = weight_of(whole, folder.path());
  std::filesystem::remove(folder / "weights.bin"); // the tensor keeps the mapping
  BOOST_TEST(!shared.tensor().owns_elements());
  BOOST_TEST(shared.tensor().data<float>()[49'999] == 49'999);

  std::memcpy(content.data() + 2, elements.data(), content.size() - 2);
  write(folder / "weights.bin", content);
  add_external(whole, "offset", "2");
  add_external(whole, "length", "200000");
  const auto copied = weight_of(whole, folder.path());
  BOOST_TEST(copied.tensor().owns_elements());
  BOOST_TEST(copied.tensor().data<float>()[49'999] == 49'999);
}

BOOST_AUTO_TEST_CASE(external_data_may_lie_in_folders_below) {
  const temporary_folder folder;
  std::filesystem::create_directories(folder / "a/b");
  write(folder / "a/b/w", std::as_bytes(std::span{"1234", 4}));
  std::filesystem::create_symlink("b/w", folder / "a/link");
  auto t = message(onnx::TensorProto::UINT8, {4});
  add_external(t, "location", "./a/link");
  BOOST_TEST(weight_of(t, folder.path()).tensor().data<std::uint8_t>()[3] == '4');
}

BOOST_AUTO_TEST_CASE(every_kind_of_value_survives_a_file) {
  const temporary_folder folder;
  const auto file = folder / "v.pb";
  const value numbers = tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const value words = tensor::of<std::string>({2}, {std::string{"a"}, std::string{"b"}});
  const auto again = [&](const value& v) {
    write_onnx_value(file, v, "v");
    return read_onnx_value(file, v.kind());
  };
  BOOST_TEST(again(numbers).tensor().data<float>()[3] == 4);
  BOOST_TEST(again(words).tensor().data<std::string>()[1] == "b");
  BOOST_TEST(again(sequence::make({numbers, words})).sequence().items[1].tensor().data<std::string>()[0] ==
             "a");
  BOOST_TEST(again(sequence::make({})).sequence().items.empty());
  const auto nested = again(sequence::make({sequence::make({numbers}), sequence::make({})}));
  BOOST_TEST(nested.sequence().items[0].sequence().items.size() == 1);
  const auto map = again(dictionary::make({{std::string{"k"}, numbers}, {std::string{"l"}, words}}));
  BOOST_TEST(map.map().entries.at(std::string{"k"}).tensor().elements() == 4);
  BOOST_TEST(again(dictionary::make({{std::int64_t{-5}, numbers}})).map().entries.contains(std::int64_t{-5}));
  BOOST_TEST(again(optional_value::make(numbers)).optional().content.tensor().elements() == 4);
  BOOST_TEST(again(optional_value::make({})).optional().content.empty());
  BOOST_TEST(
      again(optional_value::make(sequence::make({words}))).optional().content.sequence().items.size() == 1);
  BOOST_TEST(
      read_onnx_value(onnx_bytes(optional_value::make({})), value_kind::optional).optional().content.empty());
}

BOOST_AUTO_TEST_CASE(value_files_that_are_wrong_are_refused_by_name) {
  const temporary_folder folder;
  const auto file = folder / "v.pb";
  write(file, std::as_bytes(std::span{"not a tensor at all", 19}));
  BOOST_CHECK_EXCEPTION(read_onnx_value(file), error, says(errc::invalid_model, {file.string()}));
  BOOST_CHECK_EXCEPTION(read_onnx_value(folder / "none"), error, says(errc::io_failed, {"none"}));
  BOOST_CHECK_EXCEPTION(write_onnx_value(folder / "a/b", tensor::of_scalar(1.0f)), error,
                        says(errc::io_failed, {"a/b"}));
  BOOST_CHECK_EXCEPTION(onnx_bytes(value::make_object<int>(1)), error, says(errc::invalid_argument, {}));
  auto external = message(onnx::TensorProto::FLOAT, {1});
  add_external(external, "location", "w");
  BOOST_CHECK_EXCEPTION(read_onnx_value(bytes_of(external)), error, says(errc::invalid_model, {"'w'"}));
  onnx::MapProto map;
  map.set_key_type(onnx::TensorProto::INT64);
  map.add_keys(1);
  BOOST_CHECK_EXCEPTION(read_onnx_value(bytes_of(map), value_kind::map), error,
                        says(errc::invalid_model, {"keys"}));
}

BOOST_AUTO_TEST_SUITE_END()
