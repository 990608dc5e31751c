#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace sluice {

template <class Signature>
class function_ref;

/// A callable that somebody else keeps alive: two pointers, no allocation. For parameters only.
template <class Result, class... Args>
class function_ref<Result(Args...)> {
public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, function_ref> &&
           std::is_invocable_r_v<Result, F&, Args...>) function_ref(F&& f)
  noexcept // NOLINT(google-explicit-constructor): a parameter takes any callable
    : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
      call_([](void* object, Args... args) -> Result {
        return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
      }) {}

  Result operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

private:
  void* object_;
  Result (*call_)(void*, Args...);
};

} // namespace sluice
