// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "core/figure.h"

namespace lw {

/// A sink of rows whose values are neither structs nor lists: it gets value() only.
class SingleValueSink : public FigureSink {
 public:
  void object(const FigureTable& /*table*/, const void* /*object*/) override {}
  void json(std::string_view /*object*/) override {}
  void begin_list() override {}
  void begin_map() override {}
  void key(std::string_view /*name*/) override {}
  void end() override {}

 protected:
  ~SingleValueSink() = default;
};

/// A source for such rows: it is asked for value() and choice() only.
class SingleValueSource : public FigureSource {
 public:
  void object(const FigureTable& /*table*/, void* /*object*/) override {}
  std::size_t begin_list(std::size_t /*fixed*/) override { return 0; }
  std::size_t begin_map() override { return 0; }
  std::string key() override { return {}; }
  void end() override {}

 protected:
  ~SingleValueSource() = default;
};

}  // namespace lw
