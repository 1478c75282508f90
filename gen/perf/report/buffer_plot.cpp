// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/perf/report/buffer_study.h"

namespace lw::gen {
namespace {

constexpr double kWidth = 760, kHeight = 460, kLeft = 80, kRight = 110, kTop = 48, kBottom = 60;
constexpr double kInnerWidth = kWidth - kLeft - kRight, kInnerHeight = kHeight - kTop - kBottom;

/// Whole powers of ten that hold all values, on an axis of pixels.
struct LogAxis {
  int first = 0, last = 1;
  double from = 0, to = 1;  // pixels

  LogAxis(double least, double most, double begin, double end)
      : first(static_cast<int>(std::floor(std::log10(least)))),
        last(std::max(first + 1, static_cast<int>(std::ceil(std::log10(most))))),
        from(begin),
        to(end) {}
  [[nodiscard]] double at(double value) const {
    return from + (to - from) * (std::log10(value) - first) / (last - first);
  }
};

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     text);
}

std::string line(double x1, double y1, double x2, double y2) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", x1, y1,
      x2, y2);
}

std::string grid(const LogAxis& x, const LogAxis& y) {
  std::string svg;
  for (int power = x.first; power <= x.last; ++power) {
    const double at = x.at(std::pow(10, power));
    svg += line(at, kTop, at, kHeight - kBottom);
    svg += text_at(at, kHeight - kBottom + 18, "middle", fmt::format("{:g}", std::pow(10, power)));
  }
  for (int power = y.first; power <= y.last; ++power) {
    const double at = y.at(std::pow(10, power));
    svg += line(kLeft, at, kWidth - kRight, at);
    svg += text_at(kLeft - 8, at + 4, "end", fmt::format("{:g}", std::pow(10, power)));
  }
  svg += text_at(kLeft + kInnerWidth / 2, kHeight - 14, "middle", "distance, km of fibre");
  return svg + text_at(kLeft, kTop - 10, "middle", "buffers");
}

std::string curve(std::span<const BufferNeed> needs, const LogAxis& x, const LogAxis& y,
                  const char* colour) {
  std::string places, dots;
  for (const BufferNeed& need : needs) {
    const double at_x = x.at(need.kilometres), at_y = y.at(need.buffers);
    places += fmt::format("{:.1f},{:.1f} ", at_x, at_y);
    dots += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"><title>{} km: {} buffers"
        "</title></circle>\n",
        at_x, at_y, colour, need.kilometres, need.buffers);
  }
  const BufferNeed& end = needs.back();
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                     places, colour) +
         dots +
         text_at(x.at(end.kilometres) + 8, y.at(end.buffers) + 4, "start",
                 end.size < 1u << 20 ? fmt::format("{} KiB", end.size >> 10)
                                     : fmt::format("{} MiB", end.size >> 20));
}

}  // namespace

std::string buffers_svg(const std::vector<BufferNeed>& needs, const std::string& title) {
  const auto by_km = std::ranges::minmax(needs, {}, &BufferNeed::kilometres);
  const auto by_need = std::ranges::minmax(needs, {}, &BufferNeed::buffers);
  const LogAxis x(by_km.min.kilometres, by_km.max.kilometres, kLeft, kLeft + kInnerWidth);
  const LogAxis y(by_need.min.buffers, by_need.max.buffers, kHeight - kBottom, kTop);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth, kHeight);
  svg += text_at(kWidth / 2, 22, "middle", title) + grid(x, y);
  constexpr std::array kColours = {"#1f5fa8", "#b03030", "#2e7d32", "#6a3d9a"};
  std::size_t drawn = 0;
  for (auto begin = needs.begin(); begin != needs.end();) {
    const auto end = std::find_if(begin, needs.end(),
                                  [&](const BufferNeed& need) { return need.size != begin->size; });
    svg += curve({begin, end}, x, y, kColours[drawn++ % kColours.size()]);
    begin = end;
  }
  return svg + "</svg>\n";
}

}  // namespace lw::gen
