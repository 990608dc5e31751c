#include <sluice/graph/onnx_import.hpp>

#include <tests/graph/any_operator.hpp>
#include <tests/graph/onnx_models.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>

#include <sys/stat.h>

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string small = "g (float[2] x) => (float[2] y) { y = Add(x, w) }";

void load(const onnx::ModelProto& m, const onnx_options& options = {},
          const std::filesystem::path& folder = {}) {
  (void)load_onnx(bytes_of(m), any_operator(), options, folder);
}

void check_refused(const onnx::ModelProto& m, errc code, std::vector<std::string> parts) {
  BOOST_CHECK_EXCEPTION(load(m), error, says(code, std::move(parts)));
}

/// The small model with a weight 'w' that `fill` puts together.
template <class F>
onnx::ModelProto with_weight(F&& fill) {
  auto m = model_with(small);
  auto& w = *m.mutable_graph()->add_initializer();
  w.set_name("w");
  w.set_data_type(onnx::TensorProto::FLOAT);
  fill(w);
  return m;
}

onnx::ModelProto with_external(const std::string& location, const std::string& offset = {},
                               const std::string& length = {}) {
  return with_weight([&](onnx::TensorProto& w) {
    w.add_dims(2);
    w.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto add = [&](const char* key, const std::string& text) {
      if (text.empty())
        return;
      auto& entry = *w.add_external_data();
      entry.set_key(key);
      entry.set_value(text);
    };
    add("location", location);
    add("offset", offset);
    add("length", length);
  });
}

/// A length-delimited field of protobuf's encoding, for fields up to 15.
std::string field(int number, const std::string& content) {
  std::string bytes{static_cast<char>(number << 3 | 2)};
  auto n = content.size();
  for (; n >= 0x80; n >>= 7)
    bytes += static_cast<char>((n & 0x7f) | 0x80);
  bytes += static_cast<char>(n);
  return bytes += content;
}

/// If nodes, one within the other.
onnx::ModelProto nested(int depth) {
  auto m = model_with("g (bool c, float[1] x) => (float[1] y) { y = Relu(x) }");
  auto* g = m.mutable_graph();
  for (int i = 0; i < depth; ++i) {
    auto& n = *g->mutable_node(0);
    n.set_op_type("If");
    n.set_input(0, "c");
    auto& a = *n.add_attribute();
    a.set_name("then_branch");
    a.set_type(onnx::AttributeProto::GRAPH);
    g = a.mutable_g();
    auto& inner = *g->add_node();
    inner.set_op_type("Relu");
    inner.add_input("x");
    inner.add_output("y");
    g->add_output()->set_name("y");
  }
  return m;
}

} // namespace

BOOST_AUTO_TEST_SUITE(hostile_model)

BOOST_AUTO_TEST_CASE(files_that_are_no_models_are_refused) {
  const auto from = [](std::string_view text) {
    return load_onnx(std::as_bytes(std::span{text.data(), text.size()}), any_operator());
  };
  BOOST_CHECK_EXCEPTION(from(""), error, says(errc::invalid_model, {"empty"}));
  BOOST_CHECK_EXCEPTION(from("just some text"), error, says(errc::invalid_model, {"not a"}));
  BOOST_CHECK_EXCEPTION(from({"\x08\x07", 2}), error, says(errc::invalid_model, {"no graph"}));
  BOOST_CHECK_EXCEPTION(from({"\0\0\0\0", 4}), error, says(errc::invalid_model, {"damaged"}));
}

BOOST_AUTO_TEST_CASE(a_model_cut_off_anywhere_is_refused) {
  const auto bytes = bytes_of(with_weight([](auto& w) {
    w.add_dims(2);
    w.add_float_data(1);
    w.add_float_data(2);
  }));
  std::size_t accepted = 0;
  for (std::size_t n = 0; n < bytes.size(); ++n)
    try {
      (void)load_onnx(std::span{bytes}.first(n), any_operator());
      ++accepted;
    } catch (const error& e) {
      BOOST_TEST((e.code() == errc::invalid_model || e.code() == errc::unsupported), e.what());
    }
  BOOST_TEST(accepted <= 1); // only the list of opsets, which comes last, may be missing: then it is opset 1
}

BOOST_AUTO_TEST_CASE(damaged_bytes_never_do_worse_than_an_error) {
  const auto bytes = bytes_of(nested(2));
  const auto operators = any_operator();
  std::size_t refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const auto flip : {0x01, 0x80, 0xff}) {
      auto damaged = bytes;
      damaged[i] ^= static_cast<std::byte>(flip);
      try {
        (void)load_onnx(damaged, operators);
      } catch (const error&) { // any other exception fails the test
        ++refused;
      }
    }
  BOOST_TEST(refused > bytes.size());
}

BOOST_AUTO_TEST_CASE(values_that_depend_on_themselves_are_refused) {
  check_refused(model_with("g (float[1] x) => (float[1] y) { a = Add(x, b) b = Neg(a) y = Relu(b) }"),
                errc::invalid_model, {"Add 'a'", "cycle"});
  check_refused(model_with("g (float[1] x) => (float[1] y) { y = Add(x, y) }"), errc::invalid_model,
                {"'y'", "cycle"});
  check_refused(model_with(R"(g (bool c) => (float[1] y) {
      y = If (c) <then_branch = t () => (float[1] p) { p = Neg(y) }, else_branch = e () => (float[1] q) { q = Neg(y) }> })"),
                errc::invalid_model, {"If 'y'", "cycle"});
}

BOOST_AUTO_TEST_CASE(values_that_nothing_produces_are_refused) {
  check_refused(model_with("g (float[1] x) => (float[1] y) { y = Add(x, missing) }"), errc::invalid_model,
                {"'missing'"});
  check_refused(model_with("g (float[1] x) => (float[1] y, float[1] z) { y = Neg(x) }"), errc::invalid_model,
                {"'z'"});
  check_refused(model_with(R"(g (bool c) => (float[1] y) {
      y = If (c) <then_branch = t () => (float[1] p) { p = Neg(gone) }, else_branch = e () => (float[1] q) { q = Neg(gone) }> })"),
                errc::invalid_model, {"'gone'"});
}

BOOST_AUTO_TEST_CASE(names_that_are_given_twice_are_refused) {
  check_refused(model_with("g (float[1] x) => (float[1] y) { y = Neg(x) y = Abs(x) }"), errc::invalid_model,
                {"'y'"});
  check_refused(model_with("g (float[1] x) => (float[1] x) { x = Neg(x) }"), errc::invalid_model, {"'x'"});
  check_refused(model_with("g (float[1] x, float[1] x) => (float[1] y) { y = Neg(x) }"), errc::invalid_model,
                {"'x'"});
  check_refused(model_with("g (float[1] x) => (float[1] y, float[1] y) { y = Neg(x) }"), errc::invalid_model,
                {"'y'"});
  auto m = model_with(small);
  for (int i = 0; i < 2; ++i) {
    auto& w = *m.mutable_graph()->add_initializer();
    w.set_name("w");
    w.set_data_type(onnx::TensorProto::FLOAT);
    w.add_float_data(1);
  }
  check_refused(m, errc::invalid_model, {"'w'", "twice"});
  auto n = model_with("g (float[1] x) => (float[1] y) { y = Relu(x) }");
  for (int i = 0; i < 2; ++i)
    n.mutable_graph()->mutable_node(0)->add_attribute()->set_name("a");
  check_refused(n, errc::invalid_model, {"Relu", "'a'"});
}

BOOST_AUTO_TEST_CASE(nodes_and_graphs_without_results_are_refused) {
  auto m = model_with("g (float[1] x) => (float[1] y) { y = Relu(x) z = Neg(x) }");
  m.mutable_graph()->mutable_node(1)->clear_output();
  check_refused(m, errc::invalid_model, {"Neg", "no outputs"});
  m = model_with("g (float[1] x) => (float[1] y) { y = Relu(x) }");
  m.mutable_graph()->clear_output();
  check_refused(m, errc::invalid_model, {"'g'", "no outputs"});
}

BOOST_AUTO_TEST_CASE(dimensions_that_make_no_sense_are_refused) {
  const auto dims = [](std::initializer_list<std::int64_t> extents, bool raw) {
    return with_weight([&](onnx::TensorProto& w) {
      for (const auto d : extents)
        w.add_dims(d);
      if (raw)
        w.set_raw_data(std::string(8, '\0'));
    });
  };
  constexpr auto huge = std::numeric_limits<std::int64_t>::max();
  for (const auto raw : {false, true}) {
    check_refused(dims({-1}, raw), errc::invalid_model, {"'w'", "negative"});
    check_refused(dims({2, std::numeric_limits<std::int64_t>::min()}, raw), errc::invalid_model,
                  {"'w'", "negative"});
    check_refused(dims({huge, huge}, raw), errc::invalid_model, {"'w'", "too many elements"});
    check_refused(dims({std::int64_t{1} << 32, std::int64_t{1} << 32}, raw), errc::invalid_model, {"'w'"});
    check_refused(dims({std::int64_t{1} << 61}, raw), errc::invalid_model,
                  {"'w'"}); // bytes overflow, elements do not
    check_refused(dims({1 << 20, 1 << 20}, raw), errc::invalid_model, {"'w'", "needs"});
    check_refused(dims({1, 1, 1, 1, 1, 1, 1, 1, 2}, raw), errc::unsupported, {"'w'", "rank 9"});
  }
  check_refused(model_with("g (float[4611686018427387904, 4] x) => (float[1] y) { y = Relu(x) }"),
                errc::invalid_model, {"'x'", "too many elements"});
  auto m = model_with("g (float[1] x) => (float[1] y) { y = Relu(x) }");
  auto& shape = *m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.mutable_dim(0)->set_dim_value(-5);
  check_refused(m, errc::invalid_model, {"'x'", "-5"});
}

BOOST_AUTO_TEST_CASE(weights_with_too_little_or_too_much_data_are_refused) {
  check_refused(with_weight([](auto& w) { w.add_dims(1'000'000), w.set_raw_data("1234"); }),
                errc::invalid_model, {"'w'", "4 bytes", "4000000"});
  check_refused(with_weight([](auto& w) { w.add_dims(1), w.set_raw_data("12345"); }), errc::invalid_model,
                {"'w'"});
  check_refused(with_weight([](auto& w) { w.add_dims(3), w.add_float_data(1); }), errc::invalid_model,
                {"'w'", "1 element"});
  check_refused(with_weight([](auto& w) { w.add_dims(1), w.add_int64_data(1); }), errc::invalid_model,
                {"'w'"});
  check_refused(with_weight([](auto& w) {
                  w.set_data_type(onnx::TensorProto::INT8);
                  w.add_int32_data(300);
                }),
                errc::invalid_model, {"'w'", "300"});
  check_refused(with_weight([](auto& w) {
                  w.set_data_type(onnx::TensorProto::STRING);
                  w.set_raw_data("text");
                }),
                errc::invalid_model, {"'w'", "strings"});
}

BOOST_AUTO_TEST_CASE(element_types_that_do_not_exist_are_refused) {
  check_refused(with_weight([](auto& w) { w.set_data_type(0); }), errc::invalid_model,
                {"'w'", "0 is no element type"});
  check_refused(with_weight([](auto& w) { w.set_data_type(-3); }), errc::invalid_model, {"'w'", "-3"});
  check_refused(with_weight([](auto& w) { w.set_data_type(1000); }), errc::invalid_model, {"'w'", "1000"});
  check_refused(with_weight([](auto& w) { w.set_data_type(17); }), errc::unsupported,
                {"'w'", "17"}); // float8
  auto m = model_with("g (float[1] x) => (float[1] y) { y = Relu(x) }");
  m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(99);
  check_refused(m, errc::invalid_model, {"'x'", "99"});
}

BOOST_AUTO_TEST_CASE(attributes_of_no_known_type_are_refused) {
  auto m = model_with("g (float[1] x) => (float[1] y) { y = Relu(x) }");
  auto& a = *m.mutable_graph()->mutable_node(0)->add_attribute();
  a.set_name("odd");
  check_refused(m, errc::invalid_model, {"Relu", "'odd'"});
  a.set_type(onnx::AttributeProto::GRAPHS);
  check_refused(m, errc::unsupported, {"Relu", "'odd'"});
  a.set_type(onnx::AttributeProto::GRAPH); // but there is none
  check_refused(m, errc::invalid_model, {"Relu", "'odd'"});
  auto c = model_with("g (float[1] x) => (float[1] y) { c = Constant() y = Relu(c) }");
  check_refused(c, errc::invalid_model, {"Constant 'c'"});
}

BOOST_AUTO_TEST_CASE(bodies_that_do_not_fit_their_operator_are_refused) {
  const auto node = [](const std::string& call, const std::string& body) {
    auto m = model_with("g (float[1] x) => (float[1] y) { " + call + " <body = b " + body + "> }");
    auto& type = *m.mutable_graph()->mutable_input(0)->mutable_type();
    const auto item = type;
    *type.mutable_sequence_type()->mutable_elem_type() = item;
    return m;
  };
  load(node("y = SequenceMap (x)", "(float[1] i) => (float[1] o) { o = Neg(i) }"));
  for (const auto& m :
       {node("y = SequenceMap (x)", "(float[1] i, float[1] j) => (float[1] o) { o = Neg(i) }"),
        node("y, z = SequenceMap (x)", "(float[1] i) => (float[1] o) { o = Neg(i) }"),
        node("y = SequenceMap (x)", "() => (float[1] o) { o = Neg(x) }")})
    check_refused(m, errc::unsupported, {"SequenceMap", "does not apply"});
  check_refused(model_with("g (float[1] x) => (float[1] y) { z = Relu(x) y = SequenceMap(z) }"),
                errc::unsupported, {"SequenceMap", "does not apply"});
}

BOOST_AUTO_TEST_CASE(opsets_that_make_no_sense_are_refused) {
  auto m = model_with("g (float[1] x) => (float[1] y) { y = Relu(x) }");
  for (const auto version : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    m.mutable_opset_import(0)->set_version(version);
    check_refused(m, errc::invalid_model, {"version " + std::to_string(version)});
  }
  m.mutable_opset_import(0)->set_version(17);
  m.add_opset_import()->set_version(13);
  check_refused(m, errc::invalid_model, {"two versions"});
}

BOOST_AUTO_TEST_CASE(external_data_outside_the_folder_is_refused) {
  const temporary_folder outside;
  const temporary_folder folder;
  write(outside / "secret", std::as_bytes(std::span{"12345678", 8}));
  write(folder / "short", std::as_bytes(std::span{"1234", 4}));
  std::filesystem::create_symlink(outside / "secret", folder / "link");
  std::filesystem::create_directory_symlink(outside.path(), folder / "dir");
  std::filesystem::create_directory(folder / "sub");
  const auto check = [&](const onnx::ModelProto& m, errc code, std::vector<std::string> parts) {
    BOOST_CHECK_EXCEPTION(load(m, {}, folder.path()), error, says(code, std::move(parts)));
  };
  const auto escape = "../" + outside.path().filename().string() + "/secret";
  for (const auto& location : {escape, "sub/../" + escape, (outside / "secret").string(), std::string{"link"},
                               std::string{"dir/secret"}})
    check(with_external(location), errc::invalid_model, {"'w'", location, "outside"});
  check(with_external(""), errc::invalid_model, {"'w'", "outside"});
  check(with_external(std::string{"sh\0rt", 5}), errc::invalid_model, {"'w'", "outside"});
  check(with_external("none"), errc::io_failed, {"'w'", "none"});
  check(with_external("sub"), errc::io_failed, {"'w'", "folder"});
  check(with_external("short"), errc::invalid_model, {"'w'", "'short'", "4"});
  BOOST_REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  check(with_external("pipe"), errc::io_failed, {"'w'", "regular"});
  BOOST_CHECK_EXCEPTION(load(with_external("short")), error,
                        says(errc::invalid_model, {"'w'", "without a folder"}));
}

BOOST_AUTO_TEST_CASE(external_data_outside_the_file_is_refused) {
  const temporary_folder folder;
  write(folder / "data", std::vector<std::byte>(64));
  const auto check = [&](const std::string& offset, const std::string& length) {
    BOOST_CHECK_EXCEPTION(load(with_external("data", offset, length), {}, folder.path()), error,
                          says(errc::invalid_model, {"'w'"}));
  };
  load(with_external("data", "56", "8"), {}, folder.path());
  check("57", "");
  check("18446744073709551615", "");
  check("18446744073709551608", "8");
  check("-1", "");
  check("1e3", "");
  check("99999999999999999999999", "");
  check("0", "7");
  check("0", "9");
  check("0", "18446744073709551615");
}

BOOST_AUTO_TEST_CASE(deep_nesting_is_refused) {
  load(nested(16));
  check_refused(nested(17), errc::unsupported, {"nested deeper than 16"});
  check_refused(nested(60), errc::unsupported, {"nested deeper than 100 messages"});
  // Optionals of optionals, deeper than any recursion would bear; protobuf itself would not write them.
  std::string type;
  for (int i = 0; i < 10'000; ++i)
    type = field(9, field(1, type));
  const auto model = field(7, field(11, field(2, type)));
  BOOST_CHECK_EXCEPTION(load_onnx(std::as_bytes(std::span{model}), any_operator()), error,
                        says(errc::unsupported, {"nested deeper", "TypeProto"}));
}

BOOST_AUTO_TEST_CASE(absurd_sizes_are_refused_before_memory_is_spent) {
  onnx_options options;
  options.max_file_bytes = 10;
  const auto m = model_with("g (float[1] x) => (float[1] y) { y = Relu(x) }");
  BOOST_CHECK_EXCEPTION(load(m, options), error, says(errc::unsupported, {"limit of 10"}));
  options = {};
  options.max_parts = 5;
  BOOST_CHECK_EXCEPTION(load(m, options), error, says(errc::unsupported, {"more than 5 parts"}));
  options = {};
  options.max_nodes = 3;
  BOOST_CHECK_EXCEPTION(
      load(model_with("g (float[1] x) => (float[1] y) { a = Neg(x) b = Neg(a) c = Neg(b) y = Neg(c) }"),
           options),
      error, says(errc::unsupported, {"more than 3 nodes"}));
  // Two bytes each in the file, hundreds in memory.
  std::string nodes;
  for (int i = 0; i < 5'000'000; ++i)
    nodes += field(1, "");
  const auto model = field(7, nodes);
  BOOST_CHECK_EXCEPTION(load_onnx(std::as_bytes(std::span{model}), any_operator()), error,
                        says(errc::unsupported, {"more than 4000000 parts"}));
}

BOOST_AUTO_TEST_CASE(names_that_would_garble_a_terminal_are_shown_without_control_characters) {
  auto m = model_with("g (float[1] x) => (float[1] y) { y = Relu(x) }");
  m.mutable_graph()->mutable_node(0)->set_input(0, "a\x1b[2Jb\n" + std::string(100'000, 'c'));
  try {
    load(m);
    BOOST_ERROR("it was accepted");
  } catch (const error& e) {
    const std::string text = e.what();
    BOOST_TEST(text.find("a?[2Jb?c") != std::string::npos);
    BOOST_TEST(text.size() < 5'000);
  }
}

BOOST_AUTO_TEST_SUITE_END()
