// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace lw::gen {

// What one rank counted goes to another as JSON. A table of the numbers of a struct is a function
// that calls use("key", number) for each; with these it serves both directions. Times are in ns.

/// Puts numbers, times and arrays of numbers into an object.
template <class Json>
struct PutNumbers {
  Json& json;
  template <class T>
  void operator()(const char* key, const T& value) const {
    if constexpr (requires { value.count(); })
      json[key] = value.count();
    else
      json[key] = value;
  }
};

/// Gets them back. Throws an exception of nlohmann-json: a key is missing, or another type.
template <class Json>
struct GetNumbers {
  const Json& json;
  template <class T>
  void operator()(const char* key, T& value) const {
    if constexpr (requires { value.count(); })
      value = T{json.at(key).template get<typename T::rep>()};
    else
      value = json.at(key).template get<T>();
  }
};

}  // namespace lw::gen
