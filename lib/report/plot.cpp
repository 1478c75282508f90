// SPDX-License-Identifier: BSD-3-Clause
#include "report/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

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

constexpr double kLeft = 78, kTop = 52, kBottom = 62, kGap = 24;
constexpr double kInnerWidth = 620, kInnerHeight = 380;
constexpr double kLegendLine = 19, kCharacter = 6.8;

/// The colours of Okabe and Ito, distinguishable by the colour-blind; curves use them in turn.
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                 "#e69f00", "#56b4e9", "#000000", "#8a8a00"};

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
    const double height = kTop + kInnerHeight + kBottom;
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"13\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        width, height);
    svg += text_at(kLeft, 22, "start", plot_.title, " font-size=\"15\" font-weight=\"bold\"");
    svg += axes();
    for (std::size_t i = 0; i < curves_.size(); ++i) svg += curve(i) + legend_entry(i);
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
      svg += text_at(x_of(tick.value), kFoot + 20, "middle", tick.label);
    }
    svg += line(kLeft, kTop, kLeft, kFoot, "stroke=\"black\"");
    svg += line(kLeft, kFoot, kEnd, kFoot, "stroke=\"black\"");
    svg += text_at(kLeft + kInnerWidth / 2, kFoot + 46, "middle", plot_.x.label);
    const double middle = kTop + kInnerHeight / 2;
    svg += text_at(18, middle, "middle", plot_.y.label,
                   fmt::format(" transform=\"rotate(-90 18 {:.1f})\"", middle).c_str());
    return svg;
  }

  [[nodiscard]] std::string marker(double x, double y, const PlotCurve& curve,
                                   const char* colour) const {
    return fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\" fill=\"{}\" stroke=\"{}\"/>\n", x, y,
        curve.reference ? "white" : colour, colour);
  }

  [[nodiscard]] std::string stroke(const PlotCurve& curve, const char* colour) const {
    return fmt::format("stroke=\"{}\" stroke-width=\"1.8\"{}", colour,
                       curve.reference ? " stroke-dasharray=\"5 4\"" : "");
  }

  [[nodiscard]] std::string line_through(const PlotCurve& curve, const char* colour) const {
    std::string svg = "<polyline points=\"";
    for (const PlotPoint& p : curve.points)
      svg += fmt::format("{:.1f},{:.1f} ", x_of(p.x), y_of(p.y));
    return svg + fmt::format("\" fill=\"none\" {}/>\n", stroke(curve, colour));
  }

  [[nodiscard]] std::string curve(std::size_t index) const {
    const PlotCurve& curve = curves_[index];
    const char* colour = kColours[index % kColours.size()];
    std::string svg = curve.joined ? line_through(curve, colour) : "";
    for (const PlotPoint& p : curve.points) {
      if (p.low && p.high && *p.low < *p.high)
        svg += line(x_of(p.x), y_of(*p.low), x_of(p.x), y_of(*p.high),
                    fmt::format("stroke=\"{}\"", colour));
      if (curve.marked) svg += marker(x_of(p.x), y_of(p.y), curve, colour);
    }
    return svg;
  }

  [[nodiscard]] std::string legend_entry(std::size_t index) const {
    const PlotCurve& curve = curves_[index];
    const char* colour = kColours[index % kColours.size()];
    const double x = kLeft + kInnerWidth + kGap;
    const double y = kTop + 8 + kLegendLine * static_cast<double>(index);
    std::string svg = curve.joined ? line(x, y, x + 26, y, stroke(curve, colour)) : "";
    if (curve.marked) svg += marker(x + 13, y, curve, colour);
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
    ticks_.push_back({i * step, fmt::format("{:g}", i * step)});
  begin_ = ticks_.front().value;
  end_ = ticks_.back().value;
}

void PlotScale::tick_powers(double base, double least, double most) {
  const double first = std::floor(std::log(least) / std::log(base) + 1e-9);
  const double last = std::max(first + 1, std::ceil(std::log(most) / std::log(base) - 1e-9));
  const double step = std::ceil((last - first) / kMostTicks);
  for (double power = first; power <= last; power += step) {
    const double value = std::pow(base, power);
    ticks_.push_back({value, base == 2 ? binary_label(value) : fmt::format("{:g}", value)});
  }
  begin_ = first * std::log(base);
  end_ = last * std::log(base);
}

std::string to_svg(const Plot& plot) { return Drawing(plot).draw(); }

}  // namespace lw::report
