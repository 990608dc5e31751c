#include <sstream>
#include <tools/planning/plan_files.hpp>
namespace sluice::tools {
std::string plan_page(const std::string& model, const model_plan&) {
  return model;
}
} // namespace sluice::tools
