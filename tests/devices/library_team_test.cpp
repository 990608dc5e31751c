#include "jobs.hpp"

#include <sluice/devices/cpu_threads.hpp>
#include <sluice/devices/library_team.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <oneapi/dnnl/dnnl.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

extern "C" {
int omp_get_max_threads();
int omp_get_num_threads();
int omp_get_thread_num();
int omp_in_parallel();
void GOMP_barrier();
void GOMP_parallel(void (*f)(void*), void* data, unsigned threads, unsigned flags);
}

using namespace sluice;
using namespace sluice::test;

namespace {

/// Opens a region of `threads` members that call `f()`.
template <class F>
void region(unsigned threads, F f) {
  GOMP_parallel([](void* data) { (*static_cast<F*>(data))(); }, &f, threads, 0);
}

/// Tries until the members of earlier teams are at rest.
void run_with_team(worker& here, unsigned width, function_ref<void()> kernel) {
  while (!library_team::try_run(here, width, kernel))
    std::this_thread::yield();
}

/// Threads of this process other than Sluice's workers.
std::size_t foreign_threads() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::string name;
    std::getline(std::ifstream{task.path() / "comm"}, name);
    count += !name.starts_with("sluice-");
  }
  return count;
}

/// A oneDNN primitive with inputs of small whole numbers.
class library_kernel {
public:
  static library_kernel convolution(unsigned width) {
    const library_width created_at{width};
    return library_kernel{[](const dnnl::engine& engine) {
      using dnnl::memory;
      const auto plain = [](memory::dims dims) {
        return memory::desc{std::move(dims), memory::data_type::f32, memory::format_tag::nchw};
      };
      const auto forward = dnnl::convolution_forward::desc{dnnl::prop_kind::forward_inference,
                                                           dnnl::algorithm::convolution_direct,
                                                           plain({1, 16, 28, 28}),
                                                           plain({32, 16, 3, 3}),
                                                           plain({1, 32, 28, 28}),
                                                           {1, 1},
                                                           {1, 1},
                                                           {1, 1}};
      const dnnl::convolution_forward::primitive_desc made{forward, own_scratchpad(), engine};
      return built{dnnl::convolution_forward{made}, made.src_desc(), made.weights_desc(), made.dst_desc(),
                   made.scratchpad_desc()};
    }};
  }

  static library_kernel product(unsigned width) {
    const library_width created_at{width};
    return library_kernel{[](const dnnl::engine& engine) {
      using dnnl::memory;
      const auto plain = [](memory::dims dims) {
        return memory::desc{std::move(dims), memory::data_type::f32, memory::format_tag::ab};
      };
      const dnnl::matmul::primitive_desc made{
          dnnl::matmul::desc{plain({128, 256}), plain({256, 96}), plain({128, 96})}, own_scratchpad(),
          engine};
      return built{dnnl::matmul{made}, made.src_desc(), made.weights_desc(), made.dst_desc(),
                   made.scratchpad_desc()};
    }};
  }

  /// Executes on the calling thread, as its present OpenMP setting says.
  std::vector<float> execute() {
    std::fill(output_.begin(), output_.end(), -1.F);
    dnnl::stream stream{engine_};
    primitive_.execute(stream, arguments_);
    stream.wait();
    return output_;
  }

private:
  struct built {
    dnnl::primitive primitive;
    dnnl::memory::desc source, weights, destination, scratchpad;
  };

  // The library's own scratchpad is good only on the thread that created the primitive.
  static dnnl::primitive_attr own_scratchpad() {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
  }

  explicit library_kernel(const std::function<built(const dnnl::engine&)>& build) {
    const auto b = build(engine_);
    primitive_ = b.primitive;
    const auto buffer = [](std::vector<float>& data, const dnnl::memory::desc& desc) {
      data.resize(desc.get_size() / sizeof(float));
      for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<float>(i % 7) - 3;
    };
    buffer(source_, b.source);
    buffer(weights_, b.weights);
    buffer(output_, b.destination);
    arguments_ = {{DNNL_ARG_SRC, dnnl::memory{b.source, engine_, source_.data()}},
                  {DNNL_ARG_WEIGHTS, dnnl::memory{b.weights, engine_, weights_.data()}},
                  {DNNL_ARG_DST, dnnl::memory{b.destination, engine_, output_.data()}},
                  {DNNL_ARG_SCRATCHPAD, dnnl::memory{b.scratchpad, engine_}}};
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::primitive primitive_;
  std::vector<float> source_, weights_, output_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(library_team_test)

BOOST_AUTO_TEST_CASE(in_a_program_that_links_it_the_library_stands_before_libgomp) {
  BOOST_TEST(library_team::effective());
}

BOOST_AUTO_TEST_CASE(the_library_sees_the_width_of_the_team_and_its_regions_run_on_it) {
  cpu_threads threads{3};
  run_in(*threads.default_pool(), [](worker& here) {
    std::atomic<unsigned> ranks{0}, of_three{0};
    run_with_team(here, 3, [&] {
      BOOST_TEST(omp_get_max_threads() == 3);
      BOOST_TEST(omp_get_num_threads() == 1);
      BOOST_TEST(omp_in_parallel() == 0);
      for (int i = 0; i < 100; ++i)
        region(0, [&] {
          ranks |= 1U << omp_get_thread_num();
          of_three += omp_get_num_threads() == 3 && omp_in_parallel();
        });
    });
    BOOST_TEST(ranks == 7U);
    BOOST_TEST(of_three == 300U);
  });
}

BOOST_AUTO_TEST_CASE(a_region_may_be_narrower_than_the_team_and_regions_within_have_one_member) {
  cpu_threads threads{3};
  run_in(*threads.default_pool(), [](worker& here) {
    std::atomic<unsigned> members{0}, inner{0};
    run_with_team(here, 3, [&] {
      region(2, [&] {
        ++members;
        region(2, [&] { inner += omp_get_num_threads() == 1 && omp_get_thread_num() == 0; });
      });
    });
    BOOST_TEST(members == 2U);
    BOOST_TEST(inner == 2U);
  });
}

BOOST_AUTO_TEST_CASE(a_barrier_keeps_members_together) {
  cpu_threads threads{3};
  run_in(*threads.default_pool(), [](worker& here) {
    std::atomic<unsigned> arrived{0}, early{0};
    run_with_team(here, 3, [&] {
      region(3, [&] {
        for (unsigned round = 1; round <= 200; ++round) {
          ++arrived;
          GOMP_barrier();
          early += arrived != 3 * round;
          GOMP_barrier();
        }
      });
    });
    BOOST_TEST(early == 0U);
  });
}

BOOST_AUTO_TEST_CASE(a_kernel_that_throws_lets_its_team_go) {
  cpu_threads threads{2};
  run_in(*threads.default_pool(), [](worker& here) {
    for (int i = 0; i < 10; ++i)
      BOOST_CHECK_THROW(run_with_team(here, 2, [] { throw std::runtime_error("no memory"); }),
                        std::runtime_error);
    run_with_team(here, 2, [] {});
  });
}

BOOST_AUTO_TEST_CASE(no_team_is_begun_without_all_its_threads) {
  cpu_threads threads{2};
  run_in(*threads.default_pool(), [](worker& here) {
    BOOST_TEST(!library_team::try_run(here, 3, [] { BOOST_ERROR("begun without its threads"); }));
  });
}

BOOST_AUTO_TEST_CASE(alone_a_region_runs_on_the_calling_thread) {
  std::set<std::thread::id> ran_on;
  library_team::run_alone([&] {
    BOOST_TEST(omp_get_max_threads() == 1);
    region(4, [&] { ran_on.insert(std::this_thread::get_id()); });
  });
  BOOST_TEST((ran_on == std::set{std::this_thread::get_id()}));
}

BOOST_AUTO_TEST_CASE(wide_kernels_give_the_bits_of_narrow_ones_and_start_no_threads_of_the_library) {
  const auto before = foreign_threads();
  cpu_threads threads{2};
  for (const auto make : {&library_kernel::convolution, &library_kernel::product}) {
    auto narrow = make(1);
    auto wide = make(2);
    std::vector<float> expected;
    library_team::run_alone([&] { expected = narrow.execute(); });
    run_in(*threads.default_pool(), [&](worker& here) {
      for (int i = 0; i < 20; ++i) {
        std::vector<float> got;
        run_with_team(here, 2, [&] { got = wide.execute(); });
        BOOST_TEST((got == expected));
      }
    });
  }
  BOOST_TEST(foreign_threads() == before);
}

BOOST_AUTO_TEST_CASE(callers_with_wide_kernels_stay_within_the_budget) {
  const auto before = foreign_threads();
  cpu_threads threads{2};
  const auto pool = threads.default_pool();
  constexpr unsigned callers = 16;
  {
    std::vector<std::jthread> all;
    std::latch ready{callers};
    for (unsigned i = 0; i < callers; ++i)
      all.emplace_back([&] {
        auto narrow = library_kernel::convolution(1);
        auto wide = library_kernel::convolution(2);
        ready.arrive_and_wait();
        for (int round = 0; round < 20; ++round) {
          std::latch done{1};
          function_job j{[&](worker& here) {
            if (!library_team::try_run(here, 2, [&] { wide.execute(); }))
              library_team::run_alone([&] { narrow.execute(); });
            done.count_down();
          }};
          if (!pool->try_guest(j))
            pool->submit(j);
          done.wait();
        }
      });
  }
  BOOST_TEST(threads.peak_active() <= 2U);
  BOOST_TEST(foreign_threads() == before);
}

#ifdef SLUICE_TSAN
constexpr bool libgomp_is_instrumented = false;
#else
constexpr bool libgomp_is_instrumented = true; // or nobody looks
#endif

BOOST_AUTO_TEST_CASE(calls_outside_of_kernels_go_to_the_real_library,
                     *boost::unit_test::enable_if<libgomp_is_instrumented>()) {
  std::atomic<unsigned> members{0};
  region(2, [&] { ++members; });
  BOOST_TEST(members == 2U);
  BOOST_TEST(omp_get_thread_num() == 0);
  BOOST_TEST(omp_in_parallel() == 0);
  BOOST_TEST(omp_get_max_threads() >= 1);
}

BOOST_AUTO_TEST_SUITE_END()
