// A program whose engines and sessions are static objects, in every order, with runs in flight when it
// returns from main(). It passes if it ends with status 0.
#include <sluice/sluice.hpp>

#include <optional>
#include <vector>

namespace {

using namespace sluice;

engine& engine_of_function() {
  static engine e;
  return e;
}

std::optional<session> made_before;
engine global;
std::optional<session> made_after;
std::optional<session> of_function;

session load_into(engine& e) {
  auto g = e.builder();
  const auto x = g.placeholder<float>("x", {4, 4});
  g.output("y", g.relu(g.matmul(x, g.add(x, x))));
  return e.load(g.build());
}

void run(session& s) {
  const auto x = tensor::of<float>({4, 4}, std::vector<float>(16, 1.f));
  static_cast<void>(s.run({{"x", x}}));
  static_cast<void>(s.run_async({{"x", x}}).get());
}

} // namespace

int main() {
  made_before = load_into(global);
  made_after = load_into(global);
  of_function = load_into(engine_of_function());
  run(*made_before);
  run(*made_after);
  run(*of_function);
}
