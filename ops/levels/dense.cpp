#include <sluice/ops/dense_kernels.hpp>

#include <type_traits>
#include <utility>

namespace sluice::ops::SLUICE_LEVEL {

namespace {

/// Bytes of a register, and how many rows and panels of a product a full tile holds in registers.
#if defined(__AVX512F__)
constexpr std::size_t vector_bytes = 64;
constexpr std::size_t tile_rows = 6;
constexpr std::size_t tile_panels = 4;
#elif defined(__AVX2__)
constexpr std::size_t vector_bytes = 32;
constexpr std::size_t tile_rows = 6;
constexpr std::size_t tile_panels = 1;
#else
constexpr std::size_t vector_bytes = 16;
constexpr std::size_t tile_rows = 2;
constexpr std::size_t tile_panels = 1;
#endif

template <class T>
struct vector_of {
  using type [[gnu::vector_size(vector_bytes)]] = T;
  /// The same, readable and writable at any element's address.
  using unaligned [[gnu::vector_size(vector_bytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};

template <std::size_t... I, class F>
[[gnu::always_inline]] inline void repeat(std::index_sequence<I...>, F&& f) {
  (f(std::integral_constant<std::size_t, I>{}), ...);
}

template <class T>
[[gnu::always_inline]] inline void copy_part(T* to, const T* from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    to[i] = from[i];
}

/// Rows x Panels of the product at once, held in registers; `last` is the width of the last panel.
template <std::size_t Rows, std::size_t Panels, class T>
[[gnu::noinline]] void tile(const gemm_tile<T>& t, const T* a, const T* b, T* c, std::size_t last) {
  using vec = typename vector_of<T>::type;
  using loose = typename vector_of<T>::unaligned;
  constexpr auto width = panel_width<T>;
  constexpr auto lanes = vector_bytes / sizeof(T);
  constexpr auto parts = width / lanes; // vectors of a panel
  constexpr auto rows = std::make_index_sequence<Rows>{};
  constexpr auto vectors = std::make_index_sequence<Panels * parts>{};
  vec sum[Rows][Panels * parts];
  if (!t.accumulate) {
    repeat(rows, [&](auto r) { repeat(vectors, [&](auto v) { sum[r][v] = vec{}; }); });
  } else {
    repeat(rows, [&](auto r) {
      const auto* from = c + static_cast<std::ptrdiff_t>(r) * t.c_row;
      alignas(64) T part[width] = {};
      const auto whole = last == width;
      if (!whole)
        copy_part(part, from + (Panels - 1) * width, last);
      repeat(vectors, [&](auto v) {
        const auto outside = v / parts + 1 == Panels && !whole;
        sum[r][v] = *reinterpret_cast<const loose*>(outside ? part + v % parts * lanes : from + v * lanes);
      });
    });
  }
  for (std::size_t k = 0; k < t.k; ++k) {
    vec row[Panels * parts];
    repeat(vectors, [&](auto v) {
      row[v] = *reinterpret_cast<const loose*>(b + static_cast<std::ptrdiff_t>(v / parts) * t.b_panel +
                                               v % parts * lanes);
    });
    repeat(rows, [&](auto r) {
      const auto x = a[static_cast<std::ptrdiff_t>(r) * t.a_row];
      repeat(vectors, [&](auto v) { sum[r][v] += x * row[v]; });
    });
    a += t.a_col;
    b += t.b_row;
  }
  repeat(rows, [&](auto r) {
    auto* to = c + static_cast<std::ptrdiff_t>(r) * t.c_row;
    alignas(64) T part[width];
    const auto whole = last == width;
    repeat(vectors, [&](auto v) {
      const auto outside = v / parts + 1 == Panels && !whole;
      *reinterpret_cast<loose*>(outside ? part + v % parts * lanes : to + v * lanes) = sum[r][v];
    });
    if (!whole)
      copy_part(to + (Panels - 1) * width, part, last);
  });
}

/// All rows of a strip of `Panels` panels.
template <std::size_t Panels, class T>
void strip(const gemm_tile<T>& t, const T* b, T* c, std::size_t last) {
  std::size_t r = 0;
  const auto at = [&](std::size_t row) { return t.a + static_cast<std::ptrdiff_t>(row) * t.a_row; };
  const auto to = [&](std::size_t row) { return c + static_cast<std::ptrdiff_t>(row) * t.c_row; };
  for (; r + tile_rows <= t.m; r += tile_rows)
    tile<tile_rows, Panels>(t, at(r), b, to(r), last);
  if constexpr (tile_rows > 4) {
    for (; r + 3 <= t.m; r += 3)
      tile<3, Panels>(t, at(r), b, to(r), last);
  }
  for (; r < t.m; ++r)
    tile<1, Panels>(t, at(r), b, to(r), last);
}

template <class T>
void gemm(const gemm_tile<T>& t) {
  constexpr auto width = panel_width<T>;
  const auto panels = (t.n + width - 1) / width;
  const auto last = t.n - (panels - 1) * width;
  std::size_t p = 0;
  const auto b = [&] { return t.b + static_cast<std::ptrdiff_t>(p) * t.b_panel; };
  const auto last_of = [&](std::size_t n) { return p + n == panels ? last : width; };
  if constexpr (tile_panels > 1) {
    for (; p + tile_panels <= panels; p += tile_panels)
      strip<tile_panels>(t, b(), t.c + p * width, last_of(tile_panels));
  }
  for (; p < panels; ++p)
    strip<1>(t, b(), t.c + p * width, last_of(1));
}

using floats = vector_of<float>::type;
using loose_floats = vector_of<float>::unaligned;
using ints = vector_of<std::int32_t>::type;

// Vectors are passed by reference only: by value their ABI would depend on the level.

/// e^x for x clamped to [-87, 87], after Cephes' expf: x = n ln2 + r, a polynomial of r, n put into the
/// exponent.
[[gnu::always_inline]] inline void exponential(floats& x) {
  x = x < -87.0f ? floats{} - 87.0f : x;
  x = x > 87.0f ? floats{} + 87.0f : x;
  // Adding and subtracting 1.5 * 2^23 rounds to the nearest integer.
  const floats biased = x * 1.44269504088896341f + 12582912.0f;
  const floats n = biased - 12582912.0f;
  const floats r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const ints exponent = (__builtin_convertvector(n, ints) + 127) << 23;
  x = p * reinterpret_cast<floats>(exponent);
}

struct sigmoid_function {
  [[gnu::always_inline]] static inline void apply(loose_floats& x) {
    floats e = -x;
    exponential(e);
    x = 1.0f / (1.0f + e);
  }
};

struct tanh_function {
  [[gnu::always_inline]] static inline void apply(loose_floats& x) {
    // Near zero 1 - 2 / (e^2x + 1) cancels: a polynomial (after Cephes' tanhf) serves |x| < 0.625.
    const floats z = x * x;
    floats p = z * -5.70498872745e-3f + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    floats e = 2.0f * x;
    exponential(e);
    x = z < 0.390625f ? p * z * x + x : 1.0f - 2.0f / (e + 1.0f);
  }
};

template <class F>
void apply(float* x, std::size_t n) {
  constexpr auto width = vector_bytes / sizeof(float);
  std::size_t i = 0;
  for (; i + width <= n; i += width) {
    F::apply(*reinterpret_cast<loose_floats*>(x + i));
  }
  if (i < n) {
    alignas(64) float rest[width] = {};
    copy_part(rest, x + i, n - i);
    F::apply(*reinterpret_cast<loose_floats*>(rest));
    copy_part(x + i, rest, n - i);
  }
}

struct greater_of_two {
  template <class V>
  [[gnu::always_inline]] static inline void apply(V& y, const V& x) {
    y = x > y ? x : y;
  }
};

struct sum_of_two {
  template <class V>
  [[gnu::always_inline]] static inline void apply(V& y, const V& x) {
    y = y + x;
  }
};

template <class F>
void fold_into(float* y, const float* x, std::size_t n, std::size_t stride, std::size_t lanes) {
  constexpr auto width = vector_bytes / sizeof(float);
  if (stride == 1) {
    n *= lanes;
    std::size_t i = 0;
    for (; i + width <= n; i += width) {
      floats a = *reinterpret_cast<const loose_floats*>(y + i);
      const floats b = *reinterpret_cast<const loose_floats*>(x + i);
      F::apply(a, b);
      *reinterpret_cast<loose_floats*>(y + i) = a;
    }
    for (; i < n; ++i)
      F::apply(y[i], x[i]);
  } else if (lanes == 1) {
    for (std::size_t i = 0; i < n; ++i)
      F::apply(y[i], x[i * stride]);
  } else {
    for (std::size_t i = 0; i < n; ++i)
      fold_into<F>(y + i * lanes, x + i * stride * lanes, 1, 1, lanes);
  }
}

template <class F>
float fold(const float* x, std::size_t n, float first) {
  constexpr auto width = vector_bytes / sizeof(float);
  floats part[4] = {floats{} + first, floats{} + first, floats{} + first, floats{} + first};
  std::size_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width)
    repeat(std::make_index_sequence<4>{}, [&](auto j) {
      const floats b = *reinterpret_cast<const loose_floats*>(x + i + j * width);
      F::apply(part[j], b);
    });
  F::apply(part[0], part[1]);
  F::apply(part[2], part[3]);
  F::apply(part[0], part[2]);
  auto result = first;
  for (std::size_t j = 0; j < width; ++j)
    F::apply(result, part[0][j]);
  for (; i < n; ++i)
    F::apply(result, x[i]);
  return result;
}

float sum_of(const float* x, std::size_t n) {
  return fold<sum_of_two>(x, n, 0);
}
float max_of(const float* x, std::size_t n) {
  return fold<greater_of_two>(x, n, x[0]);
}

} // namespace

const dense_kernels dense_table = {
    .gemm_f32 = gemm<float>,
    .gemm_f64 = gemm<double>,
    .gemm_u32 = gemm<std::uint32_t>,
    .gemm_u64 = gemm<std::uint64_t>,
    .sigmoid = apply<sigmoid_function>,
    .tanh = apply<tanh_function>,
    .max_into = fold_into<greater_of_two>,
    .add_into = fold_into<sum_of_two>,
    .sum = sum_of,
    .max = max_of,
};

} // namespace sluice::ops::SLUICE_LEVEL
