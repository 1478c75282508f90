// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gen/study/search_report.h"

namespace lw::gen {
namespace {

constexpr double kWidth = 760, kHeight = 440, kLeft = 80, kRight = 24, kTop = 56, kBottom = 64;
constexpr double kInnerWidth = kWidth - kLeft - kRight, kInnerHeight = kHeight - kTop - kBottom;

/// The unit in which the highest value is at least 1.
struct Unit {
  double value;
  const char* name;
};

Unit unit_for(double highest) noexcept {
  for (const Unit unit : {Unit{1e9, "Gb/s"}, Unit{1e6, "Mb/s"}, Unit{1e3, "kb/s"}}) {
    if (highest >= unit.value) return unit;
  }
  return {1, "b/s"};
}

/// 1, 2 or 5 times a power of ten, so that about five steps reach `highest`.
double step_for(double highest) noexcept {
  const double rough = std::max(highest, 1e-9) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power) return factor * power;
  }
  return 10 * power;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(text));
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

double highest_of(const std::vector<SizeSearch>& searches) {
  double highest = 0;
  for (const SizeSearch& search : searches) {
    if (search.result.passes) highest = std::max(highest, search.result.passes->wire_bps);
    if (search.result.fails) highest = std::max(highest, search.result.fails->wire_bps);
  }
  return highest;
}

class Plot {
 public:
  explicit Plot(const std::vector<SizeSearch>& searches)
      : searches_(searches), unit_(unit_for(highest_of(searches))) {
    step_ = step_for(highest_of(searches) / unit_.value);
    top_ = step_ * std::max(1.0, std::ceil(highest_of(searches) / unit_.value / step_));
  }

  [[nodiscard]] std::string draw(const std::string& title) const {
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" font-family=\"sans-serif\" font-size=\"13\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        kWidth, kHeight);
    svg += text_at(kWidth / 2, 24, "middle", title);
    svg += axes() + curve() + points();
    return svg + "</svg>\n";
  }

 private:
  [[nodiscard]] double x_of(std::size_t index) const {
    const auto places = static_cast<double>(searches_.size());
    return kLeft + kInnerWidth * (static_cast<double>(index) + 0.5) / places;
  }
  [[nodiscard]] double y_of(double wire_bps) const {
    return kTop + kInnerHeight * (1 - wire_bps / unit_.value / top_);
  }

  [[nodiscard]] std::string axes() const {
    std::string svg;
    const int steps = static_cast<int>(std::lround(top_ / step_));
    for (int i = 0; i <= steps; ++i) {
      const double y = y_of(i * step_ * unit_.value);
      svg += line(kLeft, y, kWidth - kRight, y, "stroke=\"#ddd\"");
      svg += text_at(kLeft - 8, y + 4, "end", fmt::format("{:g}", i * step_));
    }
    svg += line(kLeft, kTop, kLeft, kHeight - kBottom, "stroke=\"black\"");
    svg += line(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "stroke=\"black\"");
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      svg += text_at(x_of(i), kHeight - kBottom + 20, "middle",
                     fmt::to_string(searches_[i].message_size));
    }
    svg += text_at(kLeft + kInnerWidth / 2, kHeight - 16, "middle", "message size, bytes");
    svg += text_at(kLeft, kTop - 12, "middle", fmt::format("on the wire, {}", unit_.name));
    return svg;
  }

  [[nodiscard]] std::string curve() const {
    std::string places;
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      if (!searches_[i].result.passes) continue;
      places += fmt::format("{:.1f},{:.1f} ", x_of(i), y_of(searches_[i].result.passes->wire_bps));
    }
    return fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"2\"/>\n", places);
  }

  [[nodiscard]] std::string points() const {
    std::string svg;
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      const auto& [passes, fails, trials] = searches_[i].result;
      if (passes) {
        svg += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#1f5fa8\"><title>passes: {:.3f} "
            "{}</title></circle>\n",
            x_of(i), y_of(passes->wire_bps), passes->wire_bps / unit_.value, unit_.name);
      }
      if (fails) {
        const double y = y_of(fails->wire_bps);
        svg += line(x_of(i) - 6, y, x_of(i) + 6, y, "stroke=\"#b03030\" stroke-width=\"2\"");
      }
    }
    svg += text_at(kWidth - kRight, kTop - 12, "end", "dot: passes; bar: fails");
    return svg;
  }

  const std::vector<SizeSearch>& searches_;
  Unit unit_;
  double step_ = 1, top_ = 1;  // in the unit
};

}  // namespace

std::string to_svg(const std::vector<SizeSearch>& searches, const std::string& title) {
  return Plot(searches).draw(title);
}

}  // namespace lw::gen
