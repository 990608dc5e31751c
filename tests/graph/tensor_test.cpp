#include <sluice/graph/tensor.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

/// Counts what it has given out; refuses beyond a limit.
class counting_memory final : public memory {
public:
  explicit counting_memory(std::size_t limit) : limit_(limit) {}
  void* allocate(std::size_t bytes) override {
    if (in_use + bytes > limit_)
      throw error{errc::out_of_memory, "no more"};
    in_use += bytes;
    return heap().allocate(bytes);
  }
  void deallocate(void* block, std::size_t bytes) noexcept override {
    in_use -= bytes;
    heap().deallocate(block, bytes);
  }
  std::size_t in_use = 0;

private:
  const std::size_t limit_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(tensors)

BOOST_AUTO_TEST_CASE(every_element_type_can_be_made_and_has_its_size) {
  for (int i = 1; i < element_type_count; ++i) {
    const auto type = static_cast<element_type>(i);
    BOOST_TEST_CONTEXT(to_string(type)) {
      const auto t = tensor::make(type, {2, 3});
      BOOST_TEST(t->bytes() == 6 * size_of(type));
      BOOST_TEST(reinterpret_cast<std::uintptr_t>(t->raw()) % memory::alignment == 0);
      visit_element_type(type, [&]<class T>(std::type_identity<T>) {
        BOOST_TEST(sizeof(T) == size_of(type));
        BOOST_CHECK(element_type_of<T> == type);
        BOOST_TEST(t->data<T>().size() == 6u);
      });
    }
  }
  BOOST_CHECK_EXCEPTION(tensor::make(element_type::undefined, {1}), error, says(errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(elements_must_fit_shape_and_type) {
  BOOST_CHECK_EXCEPTION((tensor::of<float>({3}, {1, 2})), error, says(errc::invalid_argument));
  const auto t = tensor::of<float>({2}, {1, 2});
  BOOST_CHECK_EXCEPTION((void)t->data<double>(), error, says(errc::invalid_argument));
  BOOST_CHECK_EXCEPTION(tensor::make(element_type::float64, {std::int64_t{1} << 62}), error,
                        says(errc::out_of_memory));
}

BOOST_AUTO_TEST_CASE(strings_are_made_and_destroyed) {
  const value v = tensor::of<std::string>({2}, {std::string(100, 'a'), std::string{"b"}});
  BOOST_TEST(v.tensor().data<std::string>()[0].size() ==
             100u); // a leak or double free is the sanitizer's to find
  const auto second = tensor::rows(v, 1, 1);
  BOOST_TEST(second.tensor().data<std::string>()[0] == "b");
}

BOOST_AUTO_TEST_CASE(rows_and_reshapes_share_the_elements_and_keep_them_alive) {
  value whole = tensor::of<std::int32_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto* elements = whole.tensor().raw();
  const auto rows = tensor::rows(whole, 1, 2);
  const auto row = tensor::rows(rows, 1, 1); // a view of a view
  const auto flat = tensor::reshaped(rows, {4});
  BOOST_TEST(whole.tensor().raw() == elements);
  BOOST_TEST(!whole.unique());
  whole.reset();
  BOOST_TEST(rows.tensor().data<std::int32_t>()[0] == 3);
  BOOST_TEST(row.tensor().data<std::int32_t>()[1] == 6);
  BOOST_TEST(flat.tensor().data<std::int32_t>()[3] == 6);
  BOOST_TEST(!rows.tensor().owns_elements());
  BOOST_TEST(describe(row) == "int32[1, 2]");
}

BOOST_AUTO_TEST_CASE(rows_that_are_not_there_are_refused) {
  const value t = tensor::of<float>({3}, {1, 2, 3});
  for (const auto& [first, count] : {std::pair{-1, 1}, {0, 4}, {3, 1}, {1, -1}, {4, 0}})
    BOOST_CHECK_EXCEPTION((void)tensor::rows(t, first, count), error, says(errc::invalid_argument));
  BOOST_CHECK_EXCEPTION((void)tensor::rows(t, 1, std::numeric_limits<std::int64_t>::max()), error,
                        says(errc::invalid_argument));
  BOOST_TEST(tensor::rows(t, 3, 0).tensor().elements() == 0);
  BOOST_CHECK_EXCEPTION((void)tensor::rows(tensor::of_scalar(1.0f), 0, 1), error,
                        says(errc::invalid_argument));
  BOOST_CHECK_EXCEPTION((void)tensor::reshaped(t, {2}), error, says(errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(lent_memory_is_released_once_when_nothing_uses_it) {
  const std::array<float, 4> elements{1, 2, 3, 4};
  int released = 0;
  auto lent = tensor::over(element_type::float32, {4}, elements.data(), [&] { ++released; });
  auto view = tensor::rows(lent, 2, 2);
  BOOST_TEST(lent.tensor().raw() == elements.data());
  BOOST_TEST(!lent.tensor().owns_elements());
  lent.reset();
  BOOST_TEST(released == 0);
  BOOST_TEST(view.tensor().data<float>()[1] == 4);
  view.reset();
  BOOST_TEST(released == 1);
  BOOST_CHECK_EXCEPTION((void)tensor::over(element_type::string, {1}, nullptr, {}), error,
                        says(errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(a_tensor_gives_its_bytes_back_to_the_memory_it_came_from) {
  const intrusive_ptr<counting_memory> account{new counting_memory{10'000}};
  {
    const value t = tensor::make(element_type::float32, {100}, *account);
    BOOST_TEST(account->in_use >= 400u);
    const auto view = tensor::rows(t, 0, 1);
    BOOST_CHECK_EXCEPTION(tensor::make(element_type::uint8, {10'000}, *account), error,
                          says(errc::out_of_memory));
  }
  BOOST_TEST(account->in_use == 0u);
}

BOOST_AUTO_TEST_CASE(blocked_layouts_have_padding_and_no_rows) {
  const value t =
      tensor::make_laid_out(element_type::float32, {1, 3, 2, 2}, layout::nchw8c, 8 * 4 * 4, memory::heap());
  BOOST_TEST(t.tensor().bytes() == 128u);
  BOOST_TEST(t.tensor().elements() == 12);
  BOOST_CHECK_EXCEPTION((void)tensor::rows(t, 0, 1), error, says(errc::invalid_argument));
  BOOST_CHECK_EXCEPTION((void)tensor::reshaped(t, {12}), error, says(errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(many_threads_may_share_and_drop_one_tensor) {
  const intrusive_ptr<counting_memory> account{new counting_memory{10'000}};
  std::atomic<int> seen = 0;
  {
    value shared = tensor::make(element_type::uint8, {100}, *account);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([mine = shared, &seen] {
        for (int k = 0; k < 10'000; ++k) {
          const auto copy = mine;
          seen += copy.tensor().elements() == 100;
        }
      });
    shared.reset();
    for (auto& t : threads)
      t.join();
  }
  BOOST_TEST(seen == 40'000);
  BOOST_TEST(account->in_use == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
