#include <sluice/graph/collections.hpp>
#include <sluice/graph/tensor.hpp>
#include <sluice/graph/value_codec.hpp>

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <random>

using namespace sluice;

namespace {

/// A tensor of `n` elements of any type, all different where the type allows.
value tensor_of(element_type type, std::int64_t n) {
  auto t = tensor::make(type, {n});
  visit_element_type(type, [&]<class T>(std::type_identity<T>) {
    std::size_t i = 0;
    for (auto& element : t->template data<T>()) {
      if constexpr (std::is_same_v<T, std::string>)
        element = std::string(i * 5, 'a');
      else if constexpr (std::is_same_v<T, bool>)
        element = i % 2 == 1;
      else
        element = T(static_cast<float>(i));
      ++i;
    }
  });
  return t;
}

bool same(const value& a, const value& b) {
  return encode(a) == encode(b) && describe(a) == describe(b);
}

std::vector<value> all_kinds() {
  std::vector<value> values{{}};
  for (int t = 1; t < element_type_count; ++t) {
    values.push_back(tensor_of(static_cast<element_type>(t), 5));
    values.push_back(tensor_of(static_cast<element_type>(t), 0));
  }
  values.push_back(tensor::make(element_type::float32, {2, 0, 3}));
  values.push_back(tensor::of_scalar(std::string{"a text with \0 in it", 18}));
  values.push_back(sequence::make({values[1], values[3], {}}));
  values.push_back(sequence::make({}));
  values.push_back(optional_value::make({}));
  values.push_back(optional_value::make(values.back()));
  values.push_back(dictionary::make({{std::int64_t{7}, values[1]}, {std::int64_t{-7}, values[2]}}));
  values.push_back(dictionary::make({{std::string{"key"}, sequence::make({values[1]})}}));
  return values;
}

bool refused(const std::string& bytes) {
  try {
    static_cast<void>(decode(bytes));
    return false;
  } catch (const error& e) {
    return e.code() == errc::invalid_argument;
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(value_codec_test)

BOOST_AUTO_TEST_CASE(values_of_all_kinds_and_element_types_survive) {
  for (const auto& v : all_kinds()) {
    BOOST_TEST(encodable(v));
    const auto back = decode(encode(v));
    BOOST_TEST_CONTEXT(describe(v)) {
      BOOST_TEST(same(v, back));
    }
    if (v.is(value_kind::tensor) && v.tensor().type() != element_type::string) {
      BOOST_TEST(v.tensor().bytes() == back.tensor().bytes());
      BOOST_TEST(std::memcmp(v.tensor().raw(), back.tensor().raw(), v.tensor().bytes()) == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_slice_travels_without_the_rest_of_its_tensor) {
  const auto whole = tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto back = decode(encode(tensor::rows(whole, 1, 1)));
  BOOST_TEST(back.tensor().data<float>()[0] == 3);
  BOOST_TEST(back.tensor().elements() == 2);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_sent_is_refused) {
  const auto object = value::make_object<int>(3);
  BOOST_TEST(!encodable(object));
  BOOST_TEST(!encodable(sequence::make({object})));
  BOOST_CHECK_EXCEPTION(static_cast<void>(encode(sequence::make({object}))), error,
                        [](const error& e) { return e.code() == errc::unsupported; });
  value nested;
  for (int i = 0; i < 100; ++i)
    nested = optional_value::make(nested);
  BOOST_TEST(!encodable(nested));
  BOOST_CHECK_EXCEPTION(static_cast<void>(encode(nested)), error,
                        [](const error& e) { return e.code() == errc::unsupported; });
}

BOOST_AUTO_TEST_CASE(truncated_and_overlong_bytes_are_refused) {
  for (const auto& v : all_kinds()) {
    const auto bytes = encode(v);
    for (std::size_t n = 0; n < bytes.size(); ++n)
      BOOST_TEST(refused(bytes.substr(0, n)));
    BOOST_TEST(refused(bytes + '\0'));
  }
}

BOOST_AUTO_TEST_CASE(bytes_that_claim_more_than_they_hold_allocate_nothing) {
  const auto with = [](char kind, std::initializer_list<std::uint64_t> numbers) {
    std::string bytes(1, kind);
    for (const auto n : numbers)
      bytes.append(reinterpret_cast<const char*>(&n), sizeof n);
    return bytes;
  };
  BOOST_TEST(refused(with(static_cast<char>(value_kind::sequence), {~std::uint64_t{0}})));
  BOOST_TEST(refused(with(static_cast<char>(value_kind::map), {std::uint64_t{1} << 60})));
  auto huge = encode(tensor::make(element_type::float64, {1, 1}));
  for (const auto extent :
       {std::int64_t{1} << 40, std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    std::memcpy(huge.data() + 3, &extent, sizeof extent);
    std::memcpy(huge.data() + 3 + sizeof extent, &extent, sizeof extent);
    BOOST_TEST(refused(huge));
  }
  BOOST_TEST(refused(std::string(100'000, static_cast<char>(value_kind::optional)))); // nested too deeply
  auto two = encode(tensor_of(element_type::boolean, 1));
  two.back() = 2;
  BOOST_TEST(refused(two));
}

BOOST_AUTO_TEST_CASE(random_damage_gives_a_value_or_an_error) {
  std::mt19937 random{3};
  const auto values = all_kinds();
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = encode(values[random() % values.size()]);
    for (auto n = 1 + random() % 4; n > 0; --n)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    try {
      BOOST_TEST_REQUIRE(encode(decode(bytes)).size() > 0u);
    } catch (const error& e) {
      BOOST_TEST_REQUIRE((e.code() == errc::invalid_argument));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
