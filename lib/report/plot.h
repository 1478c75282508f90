// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lw::report {

struct PlotPoint {
  double x = 0, y = 0;
  std::optional<double> low, high;  // error bar between the two y values
};

struct PlotCurve {
  std::string name;               // in the legend
  std::vector<PlotPoint> points;  // in the order in which they are joined
  bool reference = false;         // figures from another source: dashed, hollow
  bool marked = true;             // draw a mark at each point, of a shape of the curve's own
  bool joined = true;             // draw a line through the points
};

struct PlotAxis {
  enum class Scale : std::uint8_t {
    linear,    // contains 0
    log,       // powers of ten; of up to two of them also 2 and 5 times each
    binary,    // powers of two, labelled 4 Ki, 1 Mi
    category,  // values 0, 1, 2 ..., labelled by `categories`
  };
  std::string label;  // quantity and unit
  Scale scale = Scale::linear;
  std::vector<std::string> categories = {};
};

/// A vertical line at a value of the x axis; a pointer on it shows the label.
struct PlotMark {
  double x = 0;
  std::string label;
};

/// Curves over two axes.
struct Plot {
  std::string title;
  PlotAxis x, y;
  std::vector<PlotCurve> curves;
  std::vector<PlotMark> marks = {};  // those beyond the curves' ends are not drawn
};

/// Returns the plot as a self-contained SVG document. Curves differ in colour, and in their marks
/// or dashes; the legend is at the right ends of the curves. Points that an axis can't show (0 on a
/// logarithmic one) are left out; the axes span the others.
std::string to_svg(const Plot& plot);
/// The same 330 px wide, for a phone: the legend is below, and long texts have several lines.
std::string to_narrow_svg(const Plot& plot);

/// Positions and labels of values on an axis.
class PlotScale {
 public:
  /// Spans `least` to `most`, both accepted by fits(), extended to whole steps. A category axis
  /// spans its categories.
  PlotScale(const PlotAxis& axis, double least, double most);

  /// True if an axis of this scale can show `value`.
  [[nodiscard]] static bool fits(PlotAxis::Scale scale, double value) noexcept;

  struct Tick {
    double value = 0;
    std::string label;
  };
  [[nodiscard]] const std::vector<Tick>& ticks() const noexcept { return ticks_; }
  /// Position of `value`: 0 at the start of the axis, 1 at its end.
  [[nodiscard]] double place_of(double value) const noexcept;

 private:
  void tick_evenly(double least, double most);
  void tick_decades(double least, double most);
  void tick_powers(double base, double least, double most);
  void tick_categories(const std::vector<std::string>& categories);

  bool logarithmic_;
  double begin_ = 0, end_ = 1;  // of the axis; logarithms on a logarithmic one
  std::vector<Tick> ticks_;
};

}  // namespace lw::report
