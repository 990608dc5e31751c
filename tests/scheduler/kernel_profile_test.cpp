#include "tests/scheduler/planned_graph.hpp"
#include "tests/support/says.hpp"
#include "tests/support/temporary_folder.hpp"

#include <sluice/scheduler/cost_model.hpp>
#include <sluice/scheduler/kernel_profile.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace sluice;
using namespace sluice::test;

namespace {

const profile_machine here{"a CPU", "1.2.3", "a library 4", 1};
const profile_machine elsewhere{"another CPU", "1.2.3", "a library 4", 1};

kernel_profile with_one_time(const profile_machine& m, double ns) {
  kernel_profile p{m};
  p.put({"Exp-13", "float32[8]", "float32[8]", "00"}, {ns, 8, 64});
  return p;
}

std::string file_with(const std::string& machine) {
  return R"({"what": "sluice kernel times", "format": 1, "machines": [)" + machine + "]}";
}

void refused(const std::string& text, phrases why) {
  why.all.push_back("kernels.json");
  BOOST_CHECK_EXCEPTION(static_cast<void>(kernel_profile::parse(text, "file 'kernels.json'", here)), error,
                        says(errc::invalid_argument, why));
}

} // namespace

BOOST_AUTO_TEST_SUITE(kernel_profiles)

BOOST_AUTO_TEST_CASE(what_is_written_can_be_read) {
  const temporary_folder folder;
  const auto file = folder / "deep/er/kernels.json";
  with_one_time(here, 250).write(file);
  const auto read = kernel_profile::read(file, here);
  const auto* time = read.find({"Exp-13", "float32[8]", "float32[8]", "00"});
  BOOST_REQUIRE(time);
  BOOST_TEST(time->ns == 250);
  BOOST_TEST(time->flops == 8);
  BOOST_TEST(!read.find({"Exp-13", "float32[9]", "float32[9]", "00"}));
  // Nothing is left of the writing.
  BOOST_TEST(std::distance(std::filesystem::directory_iterator{file.parent_path()}, {}) == 1);
}

BOOST_AUTO_TEST_CASE(times_of_other_machines_versions_and_threads_are_kept_and_not_used) {
  const temporary_folder folder;
  const auto file = folder / "kernels.json";
  with_one_time(elsewhere, 100).write(file);
  auto mine = kernel_profile::read(file, here);
  BOOST_TEST(mine.all().empty());
  BOOST_TEST(mine.others() == 1u);
  mine.put({"Exp-13", "float32[8]", "float32[8]", "00"}, {70, 8, 64});
  mine.write(file);
  BOOST_TEST(kernel_profile::read(file, here).all().begin()->second.ns == 70);
  BOOST_TEST(kernel_profile::read(file, elsewhere).all().begin()->second.ns == 100);
  auto two_threads = here;
  two_threads.threads = 2;
  BOOST_TEST(kernel_profile::read(file, two_threads).others() == 2u);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_there_is_an_empty_profile) {
  const temporary_folder folder;
  BOOST_TEST(kernel_profile::read(folder / "none.json", here).all().empty());
}

BOOST_AUTO_TEST_CASE(files_that_are_wrong_are_refused_with_the_place) {
  const temporary_folder folder;
  refused("", {"parse error"});
  refused("{\"what\": \"sluice", {"line 1"});
  refused("[]", {"no file of kernel times"});
  refused(R"({"what": "something else"})", {"no file of kernel times"});
  refused(R"({"what": "sluice kernel times", "format": 2})", {"its format is not 1"});
  refused(R"({"what": "sluice kernel times", "format": 1})", {"no list 'machines'"});
  refused(file_with("3"), {"machine 1", "'threads'"});
  const auto times = [](const std::string& list, const char* threads = "1") {
    return file_with(R"({"cpu": "a CPU", "library": "1.2.3", "kernels": "a library 4", "threads": )" +
                     std::string{threads} + R"(, "times": )" + list + "}");
  };
  refused(times("[]", "0"), {"machine 1", "'threads'"});
  refused(times("[]", "1.5"), {"machine 1", "'threads'"});
  refused(times("{}"), {"machine 1", "'times'"});
  refused(times("[7]"), {"machine 1, time 1", "'op'"});
  const std::string name = R"("op": "Exp-13", "inputs": "", "outputs": "", "attributes": "")";
  refused(times("[{" + name + R"(, "ns": -1, "flops": 0, "bytes": 0}])"), {"time 1", "'ns' below zero"});
  refused(times("[{" + name + R"(, "ns": "1", "flops": 0, "bytes": 0}])"), {"time 1", "no number 'ns'"});
  refused(times("[{" + name + R"(, "ns": 1, "ns": 2, "flops": 0, "bytes": 0}])"), {"'ns' is there twice"});
  refused(std::string(100'000, '['), {"parse error"});
  BOOST_CHECK_EXCEPTION(static_cast<void>(kernel_profile::read(folder.path(), here)), error,
                        says(errc::io_failed, {"not a regular file"}));
  BOOST_CHECK_EXCEPTION(with_one_time(here, 1).write("/proc/no/kernels.json"), error,
                        says(errc::io_failed, {"/proc/no/kernels.json"}));
}

BOOST_AUTO_TEST_CASE(a_users_profile_lies_in_the_cache_folder) {
  setenv("XDG_CACHE_HOME", "/tmp/cache", 1);
  BOOST_TEST(default_profile_file() == "/tmp/cache/sluice/kernels.json");
  setenv("XDG_CACHE_HOME", "relative", 1); // which the specification says to ignore
  setenv("HOME", "/home/someone", 1);
  BOOST_TEST(default_profile_file() == "/home/someone/.cache/sluice/kernels.json");
  unsetenv("XDG_CACHE_HOME");
  BOOST_TEST(default_profile_file() == "/home/someone/.cache/sluice/kernels.json");
}

BOOST_AUTO_TEST_CASE(kernels_are_told_apart_by_operator_types_attributes_and_shapes_that_constants_say) {
  planned_graph g;
  const auto x = g.builder.placeholder("x", {element_type::float32, shape{2, 6}});
  const auto starts = [&](const char* name, std::int64_t at) {
    return g.builder.constant(name, tensor::of<std::int64_t>({1}, {at}));
  };
  const auto slice = [&](const char* name, edge_ref from) {
    return g.builder.op("Slice", {x, from, starts((std::string{name} + "_end").c_str(), 9)}, {}, name);
  };
  const auto one = starts("one", 1), also_one = starts("also_one", 1), two = starts("two", 2);
  g.builder.output("a", slice("a", one));
  g.builder.output("b", slice("b", also_one));
  g.builder.output("c", slice("c", two));
  g.builder.output("d", g.builder.op("Softmax", {x}, {{"axis", std::int64_t{0}}}, "d"));
  g.builder.output("e", g.builder.op("Softmax", {x}, {{"axis", std::int64_t{1}}}, "e"));
  const auto p = g.make();
  const auto id = [&](const char* node) {
    return id_of(*p, p->steps[p->step_of[p->source->find_node(node)]]);
  };
  BOOST_TEST((id("a") == id("b")));
  BOOST_TEST((id("a") != id("c")));
  BOOST_TEST((id("d") != id("e")));
  BOOST_TEST(id("d").inputs == "float32[2, 6]");
  BOOST_TEST(id("a").inputs == "float32[2, 6], int64[1] constant, int64[1] constant");
}

BOOST_AUTO_TEST_CASE(estimates_are_what_was_measured_or_corrected_by_it) {
  planned_graph g;
  const auto small = g.builder.placeholder("x", {element_type::float32, shape{1000}});
  const auto large = g.builder.placeholder("y", {element_type::float32, shape{100'000}});
  g.builder.output("a", g.builder.op("Exp", {small}, {}, "small"));
  g.builder.output("b", g.builder.op("Exp", {large}, {}, "large"));
  g.builder.output("c", g.builder.op("Tanh", {small}, {}, "other"));
  const auto p = g.make();
  const auto ask = [&](const cost_model& m, const char* node) {
    return m.of(*p, p->steps[p->step_of[p->source->find_node(node)]]);
  };
  const cost_model formulas;
  BOOST_CHECK(ask(formulas, "small").from == cost_source::formula);
  const auto said = ask(formulas, "small").ns;

  const auto& step = p->steps[p->step_of[p->source->find_node("small")]];
  const auto cost = firing_cost(*p, step);
  BOOST_REQUIRE(cost);
  auto profile = std::make_shared<kernel_profile>(here);
  profile->put(id_of(*p, step), {3 * said, cost->flops, cost->bytes});
  const cost_model measured{profile};
  BOOST_CHECK(ask(measured, "small").from == cost_source::measured);
  BOOST_TEST(ask(measured, "small").ns == 3 * said);
  BOOST_CHECK(ask(measured, "large").from == cost_source::corrected);
  BOOST_TEST(ask(measured, "large").ns == 3 * ask(formulas, "large").ns, boost::test_tools::tolerance(1e-9));
  BOOST_CHECK(ask(measured, "other").from == cost_source::formula);
}

BOOST_AUTO_TEST_SUITE_END()
