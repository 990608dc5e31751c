#include <sluice/caf.hpp>
#include <sluice/sluice.hpp>
#include <sluice/stream/image_file.hpp>

#include <caf/actor.hpp>

#include <filesystem>
#include <iostream>

int main(int, char** argv) {
  const std::filesystem::path folder = argv[1];
  sluice::engine engine;
  auto digits = engine.load(folder / "digits.onnx");
  const auto results = digits.run({{"image", sluice::load_image(folder / "seven.png", {1, 1, 28, 28})}});
  const auto read = sluice::argmax(results["scores"]);
  std::cout << "read a " << read << " by " << sluice::handle_of(digits).id() << '\n';
  return read == 7 ? 0 : 1;
}
