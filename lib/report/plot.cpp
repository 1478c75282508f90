// SPDX-License-Identifier: BSD-3-Clause
#include "report/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

namespace lw::report {
namespace {

constexpr double kMostTicks = 12;

/// 1, 2 or 5 times a power of ten, so that about six steps make `span`.
double step_for(double span) noexcept {
  const double rough = std::max(span, 1e-300) / 6;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

std::string binary_label(double value) {
  constexpr const char* kPrefixes[] = {"", " Ki", " Mi", " Gi", " Ti"};
  std::size_t prefix = 0;
  for (; value >= 1024 && prefix + 1 < std::size(kPrefixes); ++prefix) value /= 1024;
  return fmt::format("{:g}{}", value, kPrefixes[prefix]);
}

/// "0.001", "50", "2 M", "10⁻⁷": without exponents that a reader has to count. All labels of an
/// even axis have the prefix of its largest value.
std::string decimal_label(double value, double largest) {
  constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T", " P"};
  const double size = std::abs(value);
  if (size != 0 && size < 1e-4) {
    const int power = static_cast<int>(std::floor(std::log10(size) + 1e-9));
    constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    std::string raised;
    for (const char digit : fmt::to_string(-power)) raised += kDigits[digit - '0'];
    const double factor = value / std::pow(10, power);
    return fmt::format("{}10⁻{}", std::abs(factor - 1) < 1e-9 ? "" : fmt::format("{:g}·", factor),
                       raised);
  }
  constexpr double kFirstPrefixed = 1e4;
  std::size_t prefix = 0;
  if (value == 0) return "0";
  if (std::abs(largest) >= kFirstPrefixed)
    for (; std::abs(largest) >= 1000 && prefix + 1 < std::size(kPrefixes); ++prefix) {
      largest /= 1000;
      value /= 1000;
    }
  return fmt::format("{:g}{}", value, kPrefixes[prefix]);
}

constexpr double kLeft = 78, kTop = 52, kBottom = 62, kGap = 24;
constexpr double kInnerWidth = 620, kInnerHeight = 380;
constexpr double kLegendLine = 19, kCharacter = 6.8;
constexpr double kTiltSine = 0.5, kTiltDegrees = 30;  // of long labels below the x axis
constexpr std::size_t kLongestLabel = 40;             // characters

/// Curves use these in turn: the colours of Okabe and Ito, distinguishable by the colour-blind; a
/// shape for each mark, and a dash for each curve without marks, so that a black and white print
/// tells curves apart too. The numbers of colours and shapes have no common divisor.
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                 "#e69f00", "#56b4e9", "#000000", "#8a8a00"};
constexpr std::array kDashes = {"", "9 3", "2 3", "9 3 2 3", "14 4", "5 2 1 2 1 2", "1 4"};
constexpr std::size_t kShapes = 7;
constexpr double kMark = 3.2;  // radius, in px

/// The corners of a mark around 0, 0; a circle has none.
std::string_view corners_of(std::size_t index) {
  constexpr std::array<std::string_view, kShapes> kCorners = {
      "",
      "-3,-3 3,-3 3,3 -3,3",
      "0,-4.2 4,3 -4,3",
      "0,-4.6 4.2,0 0,4.6 -4.2,0",
      "0,4.2 4,-3 -4,-3",
      "-4,-1.4 -1.4,-1.4 -1.4,-4 1.4,-4 1.4,-1.4 4,-1.4 4,1.4 1.4,1.4 1.4,4 -1.4,4 -1.4,1.4 -4,1.4",
      "-2,-3.6 2,-3.6 4.2,0 2,3.6 -2,3.6 -4.2,0"};
  return kCorners[index % kShapes];
}

std::string svg_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, svg_text(text));
}

std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

/// The curves without the points that an axis can't show.
std::vector<PlotCurve> drawable(const Plot& plot) {
  std::vector<PlotCurve> curves = plot.curves;
  for (PlotCurve& curve : curves) {
    std::erase_if(curve.points, [&](const PlotPoint& p) {
      return !PlotScale::fits(plot.x.scale, p.x) || !PlotScale::fits(plot.y.scale, p.y);
    });
  }
  return curves;
}

struct Extent {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  void take(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  [[nodiscard]] PlotScale scale(const PlotAxis& axis) const {
    return least <= most ? PlotScale(axis, least, most) : PlotScale(axis, 1, 10);
  }
};

class Drawing {
 public:
  explicit Drawing(const Plot& plot)
      : plot_(plot), curves_(drawable(plot)), x_(extent_x()), y_(extent_y()) {}

  [[nodiscard]] std::string draw() const {
    std::size_t longest = 0;
    for (const PlotCurve& curve : curves_) longest = std::max(longest, curve.name.size());
    const double legend = 48 + kCharacter * static_cast<double>(longest);
    const double width = kLeft + kInnerWidth + kGap + legend;
    const double lines = kLegendLine * static_cast<double>(curves_.size());
    const double height =
        std::max(kTop + kInnerHeight + kBottom + tilted_height(), kTop + 16 + lines);
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"13\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        width, height);
    svg += text_at(kLeft, 22, "start", plot_.title, " font-size=\"15\" font-weight=\"bold\"");
    svg += axes() + marks();
    const std::vector<double> places = legend_places();
    for (std::size_t i = 0; i < curves_.size(); ++i) svg += curve(i) + legend_entry(i, places[i]);
    return svg + "</svg>\n";
  }

 private:
  [[nodiscard]] PlotScale extent_x() const {
    Extent extent;
    for (const PlotCurve& curve : curves_)
      for (const PlotPoint& p : curve.points) extent.take(p.x);
    return extent.scale(plot_.x);
  }
  [[nodiscard]] PlotScale extent_y() const {
    Extent extent;
    for (const PlotCurve& curve : curves_)
      for (const PlotPoint& p : curve.points)
        for (const double value : {p.y, p.low.value_or(p.y), p.high.value_or(p.y)})
          if (PlotScale::fits(plot_.y.scale, value)) extent.take(value);
    return extent.scale(plot_.y);
  }
  [[nodiscard]] double x_of(double value) const { return kLeft + kInnerWidth * x_.place_of(value); }
  [[nodiscard]] double y_of(double value) const {
    const double place = PlotScale::fits(plot_.y.scale, value) ? y_.place_of(value) : 0;
    return kTop + kInnerHeight * (1 - place);
  }

  [[nodiscard]] std::string axes() const {
    constexpr double kFoot = kTop + kInnerHeight, kEnd = kLeft + kInnerWidth;
    std::string svg;
    for (const auto& tick : y_.ticks()) {
      svg += line(kLeft, y_of(tick.value), kEnd, y_of(tick.value), "stroke=\"#dddddd\"");
      svg += text_at(kLeft - 8, y_of(tick.value) + 4, "end", tick.label);
    }
    for (const auto& tick : x_.ticks()) {
      svg += line(x_of(tick.value), kTop, x_of(tick.value), kFoot + 5, "stroke=\"#dddddd\"");
      svg += x_label(x_of(tick.value), kFoot + 20, tick.label);
    }
    svg += line(kLeft, kTop, kLeft, kFoot, "stroke=\"black\"");
    svg += line(kLeft, kFoot, kEnd, kFoot, "stroke=\"black\"");
    svg += text_at(kLeft + kInnerWidth / 2, kFoot + 46 + tilted_height(), "middle", plot_.x.label);
    const double middle = kTop + kInnerHeight / 2;
    svg += text_at(18, middle, "middle", plot_.y.label,
                   fmt::format(" transform=\"rotate(-90 18 {:.1f})\"", middle).c_str());
    return svg;
  }

  [[nodiscard]] std::string marks() const {
    std::string svg;
    for (const PlotMark& mark : plot_.marks) {
      if (!PlotScale::fits(plot_.x.scale, mark.x)) continue;
      const double place = x_.place_of(mark.x), x = x_of(mark.x);
      if (place < 0 || place > 1) continue;
      svg += fmt::format("<g><title>{}</title>\n{}</g>\n", svg_text(mark.label),
                         line(x, kTop, x, kTop + kInnerHeight,
                              "stroke=\"#888888\" stroke-width=\"2\" stroke-dasharray=\"3 4\""));
    }
    return svg;
  }

  /// The room that the longest label of the x axis needs when labels are tilted; 0: they are not.
  [[nodiscard]] double tilted_height() const {
    std::size_t longest = 0;
    for (const auto& tick : x_.ticks()) longest = std::max(longest, tick.label.size());
    const double room =
        kInnerWidth / static_cast<double>(std::max<std::size_t>(1, x_.ticks().size()));
    if (plot_.x.scale != PlotAxis::Scale::category ||
        kCharacter * static_cast<double>(longest) < room)
      return 0;
    return kCharacter * static_cast<double>(std::min(longest, kLongestLabel)) * kTiltSine;
  }

  [[nodiscard]] std::string x_label(double x, double y, const std::string& label) const {
    if (tilted_height() == 0) return text_at(x, y, "middle", label);
    const std::string text =
        label.size() > kLongestLabel ? label.substr(0, kLongestLabel - 3) + "..." : label;
    return text_at(
        x + 4, y - 4, "end", text,
        fmt::format(" transform=\"rotate(-{} {:.1f} {:.1f})\"", kTiltDegrees, x + 4, y - 4)
            .c_str());
  }

  [[nodiscard]] std::string marker(double x, double y, std::size_t index) const {
    const char* colour = colour_of(index);
    const std::string fill = fmt::format("fill=\"{}\" stroke=\"{}\"",
                                         curves_[index].reference ? "white" : colour, colour);
    if (corners_of(index).empty())
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" {}/>\n", x, y, kMark, fill);
    return fmt::format("<polygon transform=\"translate({:.1f} {:.1f})\" points=\"{}\" {}/>\n", x, y,
                       corners_of(index), fill);
  }

  [[nodiscard]] static const char* colour_of(std::size_t index) {
    return kColours[index % kColours.size()];
  }

  /// Marks tell curves apart; those without have dashes of their own.
  [[nodiscard]] std::string stroke(std::size_t index) const {
    const PlotCurve& curve = curves_[index];
    const std::string_view dash = curve.reference ? "5 4"
                                  : curve.marked  ? ""
                                                  : kDashes[index % kDashes.size()];
    return fmt::format("stroke=\"{}\" stroke-width=\"1.8\"{}", colour_of(index),
                       dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash));
  }

  [[nodiscard]] std::string line_through(std::size_t index) const {
    const PlotCurve& curve = curves_[index];
    std::string svg = "<polyline points=\"";
    for (const PlotPoint& p : curve.points)
      svg += fmt::format("{:.1f},{:.1f} ", x_of(p.x), y_of(p.y));
    return svg + fmt::format("\" fill=\"none\" {}/>\n", stroke(index));
  }

  [[nodiscard]] std::string curve(std::size_t index) const {
    const PlotCurve& curve = curves_[index];
    std::string svg = curve.joined ? line_through(index) : "";
    for (const PlotPoint& p : curve.points) {
      if (p.low && p.high && *p.low < *p.high)
        svg += line(x_of(p.x), y_of(*p.low), x_of(p.x), y_of(*p.high),
                    fmt::format("stroke=\"{}\"", colour_of(index)));
      if (curve.marked) svg += marker(x_of(p.x), y_of(p.y), index);
    }
    return svg;
  }

  /// Heights of the legend's entries: each beside the right end of its curve, or as near as the
  /// other entries leave room.
  [[nodiscard]] std::vector<double> legend_places() const {
    std::vector<double> wanted, places(curves_.size());
    for (const PlotCurve& curve : curves_) {
      const auto last = std::ranges::max_element(curve.points, {}, &PlotPoint::x);
      wanted.push_back(last == curve.points.end() ? kTop + kInnerHeight : y_of(last->y));
    }
    std::vector<std::size_t> order(curves_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return wanted[i]; });
    double next = kTop + 4;  // from the top down: none above its curve's end or the entry before
    for (const std::size_t i : order) {
      places[i] = std::max(wanted[i], next);
      next = places[i] + kLegendLine;
    }
    double most = std::max(kTop + kInnerHeight,
                           kTop + 4 + kLegendLine * static_cast<double>(curves_.size() - 1));
    for (std::size_t i = order.size(); i-- > 0;) {  // back up, where there were too many below
      places[order[i]] = std::min(places[order[i]], most);
      most = places[order[i]] - kLegendLine;
    }
    return places;
  }

  [[nodiscard]] std::string legend_entry(std::size_t index, double y) const {
    const PlotCurve& curve = curves_[index];
    const double x = kLeft + kInnerWidth + kGap;
    std::string svg = curve.joined ? line(x, y, x + 26, y, stroke(index)) : "";
    if (curve.marked) svg += marker(x + 13, y, index);
    return svg + text_at(x + 33, y + 4, "start", curve.name);
  }

  const Plot& plot_;
  std::vector<PlotCurve> curves_;
  PlotScale x_, y_;
};

}  // namespace

PlotScale::PlotScale(const PlotAxis& axis, double least, double most)
    : logarithmic_(axis.scale == PlotAxis::Scale::log || axis.scale == PlotAxis::Scale::binary) {
  if (logarithmic_) {
    tick_powers(axis.scale == PlotAxis::Scale::log ? 10 : 2, least, most);
  } else if (axis.scale == PlotAxis::Scale::category) {
    tick_categories(axis.categories);
  } else {
    tick_evenly(std::min(least, 0.0), most);
  }
}

bool PlotScale::fits(PlotAxis::Scale scale, double value) noexcept {
  const bool logarithmic = scale == PlotAxis::Scale::log || scale == PlotAxis::Scale::binary;
  return std::isfinite(value) && (!logarithmic || value > 0);
}

double PlotScale::place_of(double value) const noexcept {
  return ((logarithmic_ ? std::log(value) : value) - begin_) / (end_ - begin_);
}

void PlotScale::tick_categories(const std::vector<std::string>& categories) {
  for (std::size_t i = 0; i < categories.size(); ++i)
    ticks_.push_back({static_cast<double>(i), categories[i]});
  begin_ = -0.5;
  end_ = std::max(1.0, static_cast<double>(categories.size())) - 0.5;
}

void PlotScale::tick_evenly(double least, double most) {
  const double step = step_for(most > least ? most - least : 1);
  const double first = std::floor(least / step), last = std::max(first + 1, std::ceil(most / step));
  for (double i = first; i <= last; ++i)
    ticks_.push_back({i * step, decimal_label(i * step, std::max(-first, last) * step)});
  begin_ = ticks_.front().value;
  end_ = ticks_.back().value;
}

/// Up to two powers of ten: 1, 2 and 5 times each, from the last before `least` to the first behind
/// `most`.
void PlotScale::tick_decades(double least, double most) {
  std::vector<double> values;
  const int first = static_cast<int>(std::floor(std::log10(least) + 1e-9));
  const int last = static_cast<int>(std::ceil(std::log10(most) - 1e-9));
  for (int power = first; power <= std::max(first + 1, last); ++power)
    for (const double factor : {1.0, 2.0, 5.0}) values.push_back(factor * std::pow(10, power));
  const auto reaches = [&](double value) { return value >= most * (1 - 1e-9); };
  const auto end = std::ranges::find_if(values, reaches);
  auto begin = std::ranges::find_if(values, [&](double v) { return v > least * (1 + 1e-9); }) - 1;
  const auto stop = std::max(end, begin + 1);
  for (auto value = begin; value <= stop; ++value)
    ticks_.push_back({*value, decimal_label(*value, *value)});
  begin_ = std::log(*begin);
  end_ = std::log(*stop);
}

void PlotScale::tick_powers(double base, double least, double most) {
  constexpr double kFewDecades = 100;
  if (base == 10 && most / least <= kFewDecades) return tick_decades(least, most);
  const double first = std::floor(std::log(least) / std::log(base) + 1e-9);
  const double last = std::max(first + 1, std::ceil(std::log(most) / std::log(base) - 1e-9));
  const double step = std::ceil((last - first) / kMostTicks);
  for (double power = first; power <= last; power += step) {
    const double value = std::pow(base, power);
    ticks_.push_back({value, base == 2 ? binary_label(value) : decimal_label(value, value)});
  }
  begin_ = first * std::log(base);
  end_ = last * std::log(base);
}

std::string to_svg(const Plot& plot) { return Drawing(plot).draw(); }

}  // namespace lw::report
