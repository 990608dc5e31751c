#include "golden.hpp"

#include "files.hpp"

#include <sluice/graph/tensor.hpp>
#include <sluice/stream/npy.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace sluice::test {

namespace {

namespace fs = std::filesystem;

fs::path data(const std::string& file) {
  return in_repository("tests/data/parity") / file;
}

/// The words of a line, in turn.
class words {
public:
  words(const std::string& line, const std::string& file) : in_(line), file_(file) {}

  template <class T>
  T next() {
    T word{};
    if (!(in_ >> word))
      throw error{errc::invalid_argument, file_ + ": malformed line '" + in_.str() + "'"};
    return word;
  }
  std::string next() { return next<std::string>(); }

  shape next_shape() {
    const auto text = next();
    std::vector<std::int64_t> dims;
    if (text != "scalar") {
      std::istringstream in{text};
      for (std::string extent; std::getline(in, extent, 'x');)
        dims.push_back(std::stoll(extent));
    }
    return shape{dims};
  }

private:
  std::istringstream in_;
  const std::string& file_;
};

template <class T, class ElementAt>
value filled(const shape& dims, ElementAt element_at) {
  auto t = tensor::make(element_type_of<T>, dims);
  const auto elements = t->template data<T>();
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = element_at(i);
  return t;
}

template <class T>
value make_input(std::uint64_t seed, const shape& dims, words& line) {
  const auto how = line.next();
  if (how == "fill")
    return filled<T>(dims, [v = line.next<T>()](auto) { return v; });
  if constexpr (std::is_same_v<T, float>) {
    const auto first = how == "npy" ? line.next() : "";
    if (how == "random") {
      const auto base = line.next<float>();
      return filled<T>(
          dims, [&, scale = line.next<float>()](auto i) { return random_float(seed, i, base, scale); });
    }
    const auto stored = load_npy(data(first));
    const auto divisor = line.next<float>();
    return filled<T>(
        dims, [bytes = stored.tensor().data<std::uint8_t>(), divisor, offset = line.next<float>()](auto i) {
          return static_cast<float>(bytes[i]) / divisor - offset;
        });
  } else {
    if (how == "integers") {
      const auto low = line.next<T>();
      return filled<T>(dims, [seed, low, count = line.next<std::uint64_t>()](auto i) {
        return static_cast<T>(low + static_cast<T>((random_bits(seed, i) >> 33) % count));
      });
    }
    const auto stored = load_npy(data(line.next()));
    return filled<T>(dims, [elements = stored.tensor().data<T>()](auto i) { return elements[i]; });
  }
}

golden::input next_input(const std::string& golden_name, words& line) {
  const auto name = line.next();
  const auto type = line.next();
  const auto dims = line.next_shape();
  const auto seed = seed_of(golden_name + ":" + name);
  if (type == "f32")
    return {name, make_input<float>(seed, dims, line)};
  if (type == "i32")
    return {name, make_input<std::int32_t>(seed, dims, line)};
  return {name, make_input<std::int64_t>(seed, dims, line)};
}

} // namespace

std::uint64_t seed_of(std::string_view text) noexcept {
  std::uint64_t h = 0xCBF29CE484222325;
  for (const auto byte : text)
    h = (h ^ static_cast<unsigned char>(byte)) * 0x100000001B3;
  return h;
}

std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) noexcept {
  auto z = seed + (i + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

float random_float(std::uint64_t seed, std::uint64_t i, float base, float scale) noexcept {
  return base + scale * (static_cast<float>(random_bits(seed, i) >> 40) * 0x1p-23f - 1.f);
}

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator{data("")})
    if (file.path().extension() == ".golden")
      names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

golden load_golden(const std::string& name) {
  golden g;
  g.name = name;
  const auto file = name + ".golden";
  std::ifstream in{data(file)};
  for (std::string text; std::getline(in, text);) {
    words line{text, file};
    const auto what = line.next();
    if (what == "model") {
      g.model = line.next();
    } else if (what == "sha256") {
      g.sha256 = line.next();
    } else if (what == "weight") {
      auto& w = g.weights.emplace_back();
      w.name = line.next();
      w.dims = line.next_shape();
      w.base = line.next<float>();
      w.scale = line.next<float>();
    } else if (what == "input") {
      g.inputs.push_back(next_input(name, line));
    } else if (what == "output") {
      auto& o = g.outputs.emplace_back();
      o.name = line.next();
      line.next(); // always f32
      o.dims = line.next_shape();
      o.kind = line.next();
      o.largest = line.next<double>();
      o.sum = line.next<double>();
      o.magnitudes = line.next<double>();
      o.samples.resize(line.next<std::size_t>());
      for (auto& s : o.samples) {
        std::getline(in, text);
        words sampled{text, file};
        s.position = sampled.next<std::size_t>();
        s.expected = sampled.next<float>();
      }
    } else {
      throw error{errc::invalid_argument, file + ": malformed line '" + text + "'"};
    }
  }
  if (g.outputs.empty())
    throw error{errc::invalid_argument, file + ": no outputs"};
  return g;
}

fs::path model_of_golden(const std::string& name) {
  std::ifstream in{data(name + ".golden")};
  std::string word, model;
  in >> word >> model;
  return model;
}

} // namespace sluice::test
