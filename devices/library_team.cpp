#include <sluice/devices/library_team.hpp>
#include <sluice/devices/openmp_regions.hpp>

#include <algorithm>
#include <dlfcn.h>
#include <utility>

namespace sluice {

namespace {

/// Sets the calling thread's view, and back.
class viewed_as {
public:
  explicit viewed_as(openmp_view view) noexcept : before_(std::exchange(openmp_view::here(), view)) {}
  ~viewed_as() { openmp_view::here() = before_; }
  viewed_as(const viewed_as&) = delete;
  viewed_as& operator=(const viewed_as&) = delete;

private:
  const openmp_view before_;
};

template <class Function>
Function* symbol(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// Where Sluice's definitions lost, the width of the calling thread's real team.
unsigned real_width() noexcept {
  static auto* const get = symbol<int()>("omp_get_max_threads");
  return get ? static_cast<unsigned>(get()) : 1;
}

void set_real_width(unsigned width) noexcept {
  static auto* const set = symbol<void(int)>("omp_set_num_threads");
  if (set)
    set(static_cast<int>(width));
}

} // namespace

bool library_team::effective() noexcept {
  static const bool won = [] {
    // Compares the libraries, not the functions: the address of an exported one may itself be overlaid.
    static const char in_this_library = 0;
    Dl_info winner{}, ours{};
    auto* const entry = dlsym(RTLD_DEFAULT, "GOMP_parallel");
    return entry && dladdr(entry, &winner) && dladdr(&in_this_library, &ours) &&
           winner.dli_fbase == ours.dli_fbase;
  }();
  return won;
}

bool library_team::try_run(worker& here, unsigned width, function_ref<void()> kernel) {
  if (width <= 1) {
    run_alone(kernel);
    return true;
  }
  if (!effective())
    return false;
  openmp_regions regions{width};
  return here.try_team(width, [&](unsigned rank, unsigned) {
    if (rank)
      return regions.serve(rank);
    struct closing {
      openmp_regions& open;
      ~closing() { open.close(); }
    } const at_end{regions};
    const viewed_as master{{width, &regions, 0, 1, false}};
    kernel();
  });
}

void library_team::run_alone(function_ref<void()> kernel) {
  const library_width one{1};
  kernel();
}

library_width::library_width(unsigned width) noexcept {
  width = std::max(1U, width);
  if (library_team::effective()) {
    auto& view = openmp_view::here();
    width_before_ = std::exchange(view.width, width);
    regions_before_ = std::exchange(view.regions, nullptr);
  } else {
    width_before_ = real_width();
    set_real_width(width);
  }
}

library_width::~library_width() {
  if (library_team::effective()) {
    auto& view = openmp_view::here();
    view.width = width_before_;
    view.regions = static_cast<openmp_regions*>(regions_before_);
  } else {
    set_real_width(width_before_);
  }
}

} // namespace sluice
