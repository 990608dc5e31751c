#include <tools/arguments.hpp>
#include <tools/console.hpp>

#include <exception>
#include <new>

namespace {

using namespace sluice::tools;

/// The one sentence that a failure gets.
int failed(exit_code code, const char* sentence) {
  log(log_level::error, sentence);
  return static_cast<int>(code);
}

} // namespace

int main(int argc, char** argv) try {
  return static_cast<int>(run_command_line(argc, argv));
} catch (const command_error& e) {
  return failed(e.code(), e.what());
} catch (const sluice::error& e) {
  return failed(exit_code_of(e.code()), e.what());
} catch (const std::bad_alloc&) {
  return failed(exit_code::failed, "there is not enough memory");
} catch (const std::exception& e) {
  return failed(exit_code::failed, e.what());
}
