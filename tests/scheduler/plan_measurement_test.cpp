#include "tests/scheduler/planned_graph.hpp"
#include "tests/support/says.hpp"

#include <sluice/devices/cpu_threads.hpp>
#include <sluice/graph/tensor.hpp>
#include <sluice/scheduler/cost_model.hpp>
#include <sluice/scheduler/plan_measurement.hpp>

#include <boost/test/unit_test.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

const measuring_effort little{.seconds = 0, .least_rounds = 3};

const value row = tensor::of<float>({4}, {1, 2, 3, 4});

std::shared_ptr<executor> threads() {
  return cpu_threads::process().private_pool(1);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(plan_measurement, planned_graph)

BOOST_AUTO_TEST_CASE(every_step_gets_a_time_and_kernels_come_into_the_profile) {
  const auto x = builder.placeholder("x", {element_type::float32, shape{4}});
  const auto a = builder.op("Exp", {x}, {}, "a");
  const auto b = builder.op("Add", {a, a}, {}, "b");
  const auto f = builder.function("f", {b}, {{element_type::float32, shape{4}}},
                                  {.call = [](auto in, auto out) { out[0] = in[0]; }});
  builder.output("y", f[0]);
  builder.output("z", a);
  const auto p = make();
  const auto where = threads();
  const auto times = measure(*p, *operators, std::span{&row, 1}, *where, little);
  BOOST_TEST(times.rounds == 3u);
  BOOST_REQUIRE(times.step_ns.size() == 3u);
  for (const auto ns : times.step_ns)
    BOOST_TEST(ns > 0);
  BOOST_TEST(times.serial_ns > 0);
  kernel_profile profile{{"cpu", "0", "none", 1}};
  record(*p, times, profile);
  BOOST_TEST(profile.all().size() == 2u);
  BOOST_TEST(profile.find(id_of(*p, p->steps[0])));
}

BOOST_AUTO_TEST_CASE(shapes_that_depend_on_data_are_measured_too) {
  const auto x = builder.placeholder("x", {element_type::float32, shape{4}});
  const auto places = builder.op("NonZero", {x}, {}, "places");
  builder.output("y", builder.op("Neg", {places}, {}, "minus"));
  const auto p = make();
  const auto where = threads();
  const auto times = measure(*p, *operators, std::span{&row, 1}, *where, little);
  BOOST_TEST(times.step_ns.size() == 2u);
  kernel_profile profile{{"cpu", "0", "none", 1}};
  record(*p, times, profile);
  BOOST_TEST(!profile.find(id_of(*p, p->steps[1]))); // there is no formula for it
}

BOOST_AUTO_TEST_CASE(what_a_step_throws_is_thrown_on) {
  const auto x = builder.placeholder("x", {element_type::float32, shape{4}});
  const auto f = builder.function("f", {x}, {{element_type::float32, shape{4}}}, {.call = [](auto, auto) {
                                    throw error{errc::kernel_failed, "no luck"};
                                  }});
  builder.output("y", f[0]);
  const auto p = make();
  const auto where = threads();
  BOOST_CHECK_EXCEPTION(static_cast<void>(measure(*p, *operators, std::span{&row, 1}, *where, little)), error,
                        says(errc::kernel_failed, {"no luck"}));
  BOOST_CHECK_EXCEPTION(static_cast<void>(measure(*p, *operators, {}, *where, little)), error,
                        says(errc::invalid_argument, {"1 values, not 0"}));
}

BOOST_AUTO_TEST_SUITE_END()
