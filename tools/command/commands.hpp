#pragma once

#include <tools/conformance/compare.hpp>
#include <tools/execution.hpp>
#include <tools/exit_code.hpp>
#include <tools/feeds/input_source.hpp>
#include <tools/planning/devices.hpp>
#include <tools/planning/model_plan.hpp>
#include <tools/results/print_value.hpp>

#include <cstddef>
#include <string>
#include <vector>

/// The subcommands, each with what its command line says. All throw command_error or `sluice::error`.
namespace sluice::tools {

struct run_arguments {
  std::string model;
  std::vector<std::string> inputs;  ///< NAME=SOURCE
  std::vector<std::string> outputs; ///< NAME=FILE
  std::vector<std::string> fetch;   ///< values in place of the outputs
  input_options input;
  execution_options execution;
  print_options print;
  std::size_t repeat = 1;
};
exit_code run(const run_arguments& a);

struct inspect_arguments {
  std::string model;
  dim_values dims;
  bool nodes = false; ///< list every node
  std::string dot;    ///< file to write
  std::string svg;    ///< file to write
};
exit_code inspect(const inspect_arguments& a);

struct bench_arguments {
  std::string model;
  std::vector<std::string> inputs;
  input_options input;
  execution_options execution;
  std::size_t warm_up = 10;
  std::size_t runs = 0; ///< 0: as many as fit into `seconds`
  double seconds = 3;
  unsigned callers = 1;   ///< threads that call run()
  unsigned in_flight = 0; ///< runs under way at once by run_async(), in place of callers; 0: none
  std::string json;       ///< file to write, "-" for standard output
};
exit_code bench(const bench_arguments& a);

struct test_arguments {
  std::vector<std::string> folders;
  execution_options execution;
  tolerance allowed;
  unsigned jobs = 1;
  bool verbose = false; ///< a line for every case
  std::string json;     ///< file to write, "-" for standard output
};
exit_code test(const test_arguments& a);

struct operators_arguments {
  bool markdown = false; ///< as a page of the documentation
};
exit_code operators(const operators_arguments& a);

struct devices_arguments {
  device_options devices;
  std::string json; ///< file to write, "-" for standard output
};
exit_code devices(const devices_arguments& a);

struct plan_arguments {
  planning_options planning;
  std::vector<std::string> explain; ///< nodes whose decision is printed
  bool log_placement = false;       ///< print every node's decision
  std::string json;                 ///< file to write, "-" for standard output
  std::string html;                 ///< file to write
};
exit_code plan(const plan_arguments& a);

} // namespace sluice::tools
