// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lw::report {

struct PlotPoint {
  double x = 0, y = 0;
  std::optional<double> low, high;  // a bar from one to the other
};

struct PlotCurve {
  std::string name;
  std::vector<PlotPoint> points;  // joined in this order
  bool reference = false;         // somebody else's figures: dashed, hollow
  bool marked = true;             // a dot a point
};

struct PlotAxis {
  enum class Scale : std::uint8_t {
    linear,  // from 0
    log,     // powers of ten
    binary,  // powers of two, labelled 4 Ki, 1 Mi
  };
  std::string label;  // what it is, and its unit
  Scale scale = Scale::linear;
};

/// Curves over two axes.
struct Plot {
  std::string title;
  PlotAxis x, y;
  std::vector<PlotCurve> curves;
};

/// A picture that needs nothing else. Points that a logarithmic axis has no place for are left
/// out; axes span what is left.
std::string to_svg(const Plot& plot);

}  // namespace lw::report
