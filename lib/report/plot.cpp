// SPDX-License-Identifier: BSD-3-Clause
#include "report/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/svg_text.h"

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

/// Positions in px: of the area between the axes, and of the texts around it.
struct Layout {
  double left, top, bottom, inner_width, inner_height;
  double text_width;          // room of a line of the title, of an axis' label or of the legend
  std::size_t longest_label;  // characters of a tilted label below the x axis
  bool legend_below;
};
// The members in their order.
constexpr Layout kWide{78, 52, 62, 620, 380, 1e9, 40, false};
constexpr Layout kNarrow{58, 14, 42, 260, 230, 310, 12, true};
constexpr double kNarrowWidth = 330;
constexpr double kGap = 24;
constexpr double kLegendLine = 19, kCharacter = 6.8, kTitleCharacter = 8.4;
constexpr double kTiltSine = 0.5, kTiltDegrees = 30;  // of long labels below the x axis

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

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, svg_text(text));
}

std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

/// The text in lines of at most `room` px; a word that is longer has a line of its own.
std::vector<std::string> lines_of(const std::string& text, double room, double character) {
  const auto most = static_cast<std::size_t>(room / character);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (lines.empty() || lines.back().size() + 1 + word.size() > most)
      lines.push_back(word);
    else
      lines.back() += " " + word;
    at = end + 1;
  }
  return lines;
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
  void include(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  [[nodiscard]] PlotScale scale(const PlotAxis& axis) const {
    return least <= most ? PlotScale(axis, least, most) : PlotScale(axis, 1, 10);
  }
};

class Drawing {
 public:
  Drawing(const Plot& plot, const Layout& layout)
      : plot_(plot), layout_(layout), curves_(drawable(plot)), x_(extent_x()), y_(extent_y()) {
    if (!layout_.legend_below) return;
    const auto above = title_lines().size() + label_lines(plot_.y.label).size();
    layout_.top += kLegendLine * static_cast<double>(above);
  }

  [[nodiscard]] std::string draw() const {
    const double foot = layout_.top + layout_.inner_height + layout_.bottom + tilted_height();
    std::string body = layout_.legend_below ? head() : title();
    body += axes() + marks();
    double y = foot;
    if (layout_.legend_below)
      for (const std::string& each : label_lines(plot_.x.label))
        body += text_at(kNarrowWidth / 2, std::exchange(y, y + kLegendLine), "middle", each);
    const std::vector<double> places = layout_.legend_below ? places_below(y) : legend_places();
    for (std::size_t i = 0; i < curves_.size(); ++i) body += curve(i) + legend_entry(i, places[i]);
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
               "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" "
               "font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
               width(), layout_.legend_below ? places.back() : std::max(foot, height_of_legend())) +
           body + "</svg>\n";
  }

 private:
  [[nodiscard]] PlotScale extent_x() const {
    Extent extent;
    for (const PlotCurve& curve : curves_)
      for (const PlotPoint& p : curve.points) extent.include(p.x);
    return extent.scale(plot_.x);
  }
  [[nodiscard]] PlotScale extent_y() const {
    Extent extent;
    for (const PlotCurve& curve : curves_)
      for (const PlotPoint& p : curve.points)
        for (const double value : {p.y, p.low.value_or(p.y), p.high.value_or(p.y)})
          if (PlotScale::fits(plot_.y.scale, value)) extent.include(value);
    return extent.scale(plot_.y);
  }
  [[nodiscard]] double width() const {
    if (layout_.legend_below) return kNarrowWidth;
    std::size_t longest = 0;
    for (const PlotCurve& curve : curves_) longest = std::max(longest, curve.name.size());
    const double legend = 48 + kCharacter * static_cast<double>(longest);
    return layout_.left + layout_.inner_width + kGap + legend;
  }
  /// Of a legend beside the curves, from the top of the drawing.
  [[nodiscard]] double height_of_legend() const {
    return layout_.top + 16 + kLegendLine * static_cast<double>(curves_.size());
  }
  [[nodiscard]] std::string title() const {
    return text_at(layout_.left, 22, "start", plot_.title,
                   " font-size=\"15\" font-weight=\"bold\"");
  }
  [[nodiscard]] std::vector<std::string> title_lines() const {
    return lines_of(plot_.title, layout_.text_width, kTitleCharacter);
  }
  [[nodiscard]] std::vector<std::string> label_lines(const std::string& label) const {
    return lines_of(label, layout_.text_width, kCharacter);
  }
  /// Title, and the y axis' label below it.
  [[nodiscard]] std::string head() const {
    std::string svg;
    double y = kLegendLine;
    for (const std::string& each : title_lines())
      svg += text_at(4, std::exchange(y, y + kLegendLine), "start", each,
                     " font-size=\"15\" font-weight=\"bold\"");
    for (const std::string& each : label_lines(plot_.y.label))
      svg += text_at(4, std::exchange(y, y + kLegendLine), "start", each);
    return svg;
  }
  [[nodiscard]] double x_of(double value) const {
    return layout_.left + layout_.inner_width * x_.place_of(value);
  }
  [[nodiscard]] double y_of(double value) const {
    const double place = PlotScale::fits(plot_.y.scale, value) ? y_.place_of(value) : 0;
    return layout_.top + layout_.inner_height * (1 - place);
  }

  [[nodiscard]] std::string axes() const {
    const double foot = layout_.top + layout_.inner_height;
    const double end = layout_.left + layout_.inner_width;
    std::string svg;
    for (const auto& tick : y_.ticks()) {
      svg += line(layout_.left, y_of(tick.value), end, y_of(tick.value), "stroke=\"#dddddd\"");
      svg += text_at(layout_.left - 8, y_of(tick.value) + 4, "end", tick.label);
    }
    double free = 0;  // from here on, nothing is below the axis yet
    for (const auto& tick : x_.ticks()) {
      const double x = x_of(tick.value);
      svg += line(x, layout_.top, x, foot + 5, "stroke=\"#dddddd\"");
      const double half = kCharacter * static_cast<double>(tick.label.size()) / 2;
      if (layout_.legend_below && tilted_height() == 0 && x - half < free) continue;
      free = x + half + kCharacter;
      svg += x_label(x, foot + 20, tick.label);
    }
    svg += line(layout_.left, layout_.top, layout_.left, foot, "stroke=\"black\"");
    svg += line(layout_.left, foot, end, foot, "stroke=\"black\"");
    return layout_.legend_below ? svg : svg + axis_labels();
  }

  [[nodiscard]] std::string axis_labels() const {
    const double foot = layout_.top + layout_.inner_height;
    const double middle = layout_.top + layout_.inner_height / 2;
    return text_at(layout_.left + layout_.inner_width / 2, foot + 46 + tilted_height(), "middle",
                   plot_.x.label) +
           text_at(18, middle, "middle", plot_.y.label,
                   fmt::format(" transform=\"rotate(-90 18 {:.1f})\"", middle).c_str());
  }

  [[nodiscard]] std::string marks() const {
    std::string svg;
    for (const PlotMark& mark : plot_.marks) {
      if (!PlotScale::fits(plot_.x.scale, mark.x)) continue;
      const double place = x_.place_of(mark.x), x = x_of(mark.x);
      if (place < 0 || place > 1) continue;
      svg += fmt::format("<g><title>{}</title>\n{}</g>\n", svg_text(mark.label),
                         line(x, layout_.top, x, layout_.top + layout_.inner_height,
                              "stroke=\"#888888\" stroke-width=\"2\" stroke-dasharray=\"3 4\""));
    }
    return svg;
  }

  /// The room that the longest label of the x axis needs when labels are tilted; 0: they are not.
  [[nodiscard]] double tilted_height() const {
    std::size_t longest = 0;
    for (const auto& tick : x_.ticks()) longest = std::max(longest, tick.label.size());
    const double room =
        layout_.inner_width / static_cast<double>(std::max<std::size_t>(1, x_.ticks().size()));
    if (plot_.x.scale != PlotAxis::Scale::category ||
        kCharacter * static_cast<double>(longest) < room)
      return 0;
    return kCharacter * static_cast<double>(std::min(longest, layout_.longest_label)) * kTiltSine;
  }

  [[nodiscard]] std::string x_label(double x, double y, const std::string& label) const {
    if (tilted_height() == 0) return text_at(x, y, "middle", label);
    const std::string text = label.size() > layout_.longest_label
                                 ? label.substr(0, layout_.longest_label - 3) + "..."
                                 : label;
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
      wanted.push_back(last == curve.points.end() ? layout_.top + layout_.inner_height
                                                  : y_of(last->y));
    }
    std::vector<std::size_t> order(curves_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return wanted[i]; });
    double next =
        layout_.top + 4;  // from the top down: none above its curve's end or the entry before
    for (const std::size_t i : order) {
      places[i] = std::max(wanted[i], next);
      next = places[i] + kLegendLine;
    }
    double most =
        std::max(layout_.top + layout_.inner_height,
                 layout_.top + 4 + kLegendLine * (static_cast<double>(curves_.size()) - 1));
    for (std::size_t i = order.size(); i-- > 0;) {  // back up, where there were too many below
      places[order[i]] = std::min(places[order[i]], most);
      most = places[order[i]] - kLegendLine;
    }
    return places;
  }

  /// Heights of the entries of a legend from `y` on, and of what is below it.
  [[nodiscard]] std::vector<double> places_below(double y) const {
    std::vector<double> places;
    for (const PlotCurve& curve : curves_) {
      places.push_back(y);
      y += kLegendLine * static_cast<double>(name_lines(curve).size());
    }
    places.push_back(y);
    return places;
  }

  [[nodiscard]] std::vector<std::string> name_lines(const PlotCurve& curve) const {
    return lines_of(curve.name, layout_.text_width - kNameIndent, kCharacter);
  }

  [[nodiscard]] std::string legend_entry(std::size_t index, double y) const {
    const PlotCurve& curve = curves_[index];
    const double x = layout_.legend_below ? 4 : layout_.left + layout_.inner_width + kGap;
    std::string svg = curve.joined ? line(x, y, x + 26, y, stroke(index)) : "";
    if (curve.marked) svg += marker(x + 13, y, index);
    for (const std::string& each : name_lines(curve))
      svg += text_at(x + kNameIndent, std::exchange(y, y + kLegendLine) + 4, "start", each);
    return svg;
  }

  static constexpr double kNameIndent = 33;

  const Plot& plot_;
  Layout layout_;
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

std::string to_svg(const Plot& plot) { return Drawing(plot, kWide).draw(); }
std::string to_narrow_svg(const Plot& plot) { return Drawing(plot, kNarrow).draw(); }

}  // namespace lw::report
