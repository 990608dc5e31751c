#include <sluice/devices/device_list.hpp>
#include <sluice/devices/quantity.hpp>
#include <sluice/devices/sim_options.hpp>

#include <tests/support/says.hpp>
#include <tests/support/temporary_folder.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <fstream>
#include <string>

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

namespace {

void refuses(const auto& call, phrases wanted) {
  BOOST_CHECK_EXCEPTION(static_cast<void>(call()), error, says(errc::invalid_argument, std::move(wanted)));
}

} // namespace

BOOST_AUTO_TEST_SUITE(device_list_test)

BOOST_AUTO_TEST_CASE(bytes_have_units) {
  BOOST_TEST(parse_bytes("0") == 0U);
  BOOST_TEST(parse_bytes("1000") == 1'000U);
  BOOST_TEST(parse_bytes("7B") == 7U);
  BOOST_TEST(parse_bytes("64kB") == 64'000U);
  BOOST_TEST(parse_bytes("1.5GB") == 1'500'000'000U);
  BOOST_TEST(parse_bytes("512MiB") == std::size_t{512} << 20);
  BOOST_TEST(parse_bytes("2TiB") == std::size_t{2} << 40);
  for (const char* bad :
       {"", "MiB", "12XB", "12 MiB", "-1", "-0", "nan", "inf", "1e30", "9000000TiB", "0x10", "1MiB "})
    refuses([&] { return parse_bytes(bad); }, {"'" + std::string{bad} + "'", "bytes"});
}

BOOST_AUTO_TEST_CASE(rates_durations_and_numbers_have_theirs) {
  BOOST_TEST(parse_bandwidth("12GB/s") == 12e9);
  BOOST_TEST(parse_bandwidth("1GiB/s") == 0x1p30);
  BOOST_TEST(parse_bandwidth("100/s") == 100);
  refuses([] { return parse_bandwidth("12GB"); }, {"12GB", "per second"});
  refuses([] { return parse_bandwidth("/s"); }, {"/s", "per second"});
  BOOST_TEST((parse_duration("10us") == 10us));
  BOOST_TEST((parse_duration("10µs") == 10us));
  BOOST_TEST((parse_duration("1.5ms") == 1500us));
  BOOST_TEST((parse_duration("2s") == 2s));
  BOOST_TEST((parse_duration("0") == 0ns));
  refuses([] { return parse_duration("10"); }, {"'10'", "duration"});
  BOOST_TEST(parse_number("0.5") == 0.5);
  refuses([] { return parse_number("4x"); }, {"'4x'", "number"});
  BOOST_TEST(parse_count("4", 10) == 4U);
  for (const char* bad : {"", "11", "-1", "1.5", "1e1", " 1", "99999999999999999999999"})
    refuses([&] { return parse_count(bad, 10); }, {"'" + std::string{bad} + "'", "10"});
}

BOOST_AUTO_TEST_CASE(a_flag_describes_a_device) {
  const auto d = parse_device("sim:1=memory=512MiB,rate=4,bandwidth=12GB/s,latency=10us");
  BOOST_TEST(d.name() == "sim:1");
  BOOST_TEST(d.kind == "sim");
  BOOST_TEST(d.options.size() == 4U);
  const auto o = sim_options_of(d);
  BOOST_TEST(o.memory == std::size_t{512} << 20);
  BOOST_TEST(o.rate == 4);
  BOOST_TEST(o.bandwidth == 12e9);
  BOOST_TEST((o.latency == 10us));
  const auto all =
      sim_options_of(parse_device("sim:0=memory_bandwidth=1GB/s,copy_engines=3,streams=5,staging=1MB,"
                                  "fail_allocation=6,fail_kernel=7,lost_at=8"));
  BOOST_TEST(all.memory_bandwidth == 1e9);
  BOOST_TEST(all.copy_engines == 3U);
  BOOST_TEST(all.streams == 5U);
  BOOST_TEST(all.staging == 1'000'000U);
  BOOST_TEST(all.failures.allocation == 6U);
  BOOST_TEST(all.failures.kernel == 7U);
  BOOST_TEST(all.failures.lost_at == 8U);
  BOOST_TEST(sim_options_of(parse_device("sim:0")).rate == sim_options{}.rate);
}

BOOST_AUTO_TEST_CASE(a_wrong_flag_names_its_part) {
  for (const char* name : {"", "sim", ":0", "SIM:0", "0sim:0", "sim 0:1"})
    refuses([&] { return parse_device(name); }, {"'" + std::string{name} + "'", "name of a device"});
  for (const char* name : {"sim:", "sim:x", "sim:-1", "sim:10000", "sim:0:1"})
    refuses([&] { return parse_device(name); }, {"'" + std::string{name} + "'", "whole number"});
  for (const char* option : {"", "memory", "=4", "memory="})
    refuses([&] { return parse_device("sim:0=rate=2," + std::string{option}); },
            {"sim:0", "'" + std::string{option} + "'", "option"});
  const auto options = [](const char* flag) { return [flag] { return sim_options_of(parse_device(flag)); }; };
  refuses(options("sim:0=memory=12XB"), {"sim:0", "memory", "12XB"});
  refuses(options("sim:0=memory=0"), {"sim:0", "memory", "more than nothing"});
  refuses(options("sim:0=colour=red"), {"sim:0", "colour", "unknown", "memory, rate"});
  refuses(options("sim:0=rate=1,rate=2"), {"sim:0", "rate", "twice"});
  refuses(options("sim:0=rate=0"), {"sim:0", "rate", "positive"});
  refuses(options("sim:0=streams=0"), {"sim:0", "streams", "at least 1"});
  refuses(options("sim:0=copy_engines=5000000000"), {"sim:0", "copy_engines", "5000000000"});
}

BOOST_AUTO_TEST_CASE(a_file_describes_devices) {
  const temporary_folder folder;
  std::ofstream{folder / "devices.json"} << R"({
    "threads": 2,
    "devices": {"sim:1": {"memory": "64MiB", "rate": 0.5, "streams": 2}, "sim:0": {}}
  })";
  device_list list;
  list.add_file(folder / "devices.json");
  list.add_flag("sim:2=rate=2");
  list.add({.kind = "cpu", .index = 0});
  BOOST_TEST(list.size() == 4U);
  BOOST_TEST(list.begin()->name() == "sim:1");
  BOOST_TEST(list.find("cpu:0")->kind == "cpu");
  BOOST_TEST(!list.find("sim:3"));
  const auto o = sim_options_of(*list.find("sim:1"));
  BOOST_TEST(o.memory == std::size_t{64} << 20);
  BOOST_TEST(o.rate == 0.5);
  BOOST_TEST(o.streams == 2U);
  refuses([&] { return list.add_flag("sim:1"), 0; }, {"sim:1", "already", "devices.json"});
  BOOST_CHECK_EXCEPTION(list.add_file(folder / "none"), error, says(errc::io_failed, {"none"}));
}

BOOST_AUTO_TEST_CASE(a_wrong_file_names_its_part) {
  const auto file = [](const char* text) { return [text] { return parse_devices(text, "file 'd.json'"); }; };
  refuses(file(""), {"d.json", "line 1"});
  refuses(file("{\"devices\": {\"sim:0\": {\"rate\": }}}"), {"d.json", "line 1"});
  for (const char* text : {"[]", "3", "{}", "{\"device\": {}}", "{\"devices\": []}"})
    refuses(file(text), {"d.json", "no object 'devices'"});
  refuses(file(R"({"devices": {"sim": {}}})"), {"d.json", "'sim'", "name"});
  refuses(file(R"({"devices": {"sim:0=rate=2": {}}})"), {"d.json", "'sim:0=rate=2'", "name"});
  refuses(file(R"({"devices": {"sim:0": 4}})"), {"d.json", "sim:0", "number", "object"});
  refuses(file(R"({"devices": {"sim:0": {"rate": true}}})"), {"d.json", "sim:0", "rate", "boolean"});
  refuses(file(R"({"devices": {"sim:0": {}, "sim:0": {}}})"), {"d.json", "sim:0", "twice"});
  refuses(file(R"({"devices": {"sim:0": {"rate": 1, "rate": 2}}})"), {"d.json", "rate", "twice"});
  refuses([&] { return sim_options_of(file(R"({"devices": {"sim:0": {"memory": "big"}}})")().front()); },
          {"d.json", "sim:0", "memory", "big"});
  refuses([&] { return sim_options_of(file(R"({"devices": {"sim:0": {"rate": 0}}})")().front()); },
          {"d.json", "sim:0", "rate"});
}

BOOST_AUTO_TEST_SUITE_END()
