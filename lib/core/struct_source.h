// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "core/figure.h"

namespace lw {

/// A source for rows whose values are structs, or lists of structs: it is asked for object() and
/// begin_list() only.
class StructSource : public FigureSource {
 public:
  FigureValue value(const FigureType& /*type*/) override { return false; }
  std::size_t choice() override { return 0; }
  std::size_t begin_list(std::size_t /*fixed*/) override { return 0; }
  std::size_t begin_map() override { return 0; }
  std::string key() override { return {}; }
  void end() override {}
  void refuse(std::string_view /*why*/) override {}

 protected:
  ~StructSource() = default;
};

}  // namespace lw
