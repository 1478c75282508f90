// SPDX-License-Identifier: BSD-3-Clause
#include "config/flow/message_sizes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace lw::config {
namespace {

struct Point {
  std::uint64_t size = 0;
  double cdf = 0;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

template <class T>
bool read_whole(std::string_view text, T& value) {
  text = trimmed(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

bool read_point(std::string_view line, Point& point) {
  const auto comma = line.find(',');
  return comma != std::string_view::npos && read_whole(line.substr(0, comma), point.size) &&
         read_whole(line.substr(comma + 1), point.cdf);
}

Parsed<std::vector<Point>> read_points(std::string_view csv) {
  std::vector<Point> points;
  std::istringstream lines{std::string(csv)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text.front() == '#' || text == "size_bytes,cdf") continue;
    Point point;
    if (!read_point(text, point)) {
      return std::unexpected(
          fmt::format("line {}: expected size_bytes,cdf such as 10000,0.15, found \"{}\"", number,
                      text.substr(0, 60)));
    }
    const bool rises =
        points.empty() || (point.size > points.back().size && point.cdf >= points.back().cdf);
    // A NaN is in no range.
    if (!rises || !(point.cdf >= 0 && point.cdf <= 1)) {
      return std::unexpected(fmt::format(
          "line {}: expected a size and a share from 0 to 1 that both rise, found \"{}\"", number,
          text.substr(0, 60)));
    }
    points.push_back(point);
  }
  return points;
}

}  // namespace

MessageSizes MessageSizes::fixed(std::uint64_t size) { return uniform(size, size); }

MessageSizes MessageSizes::listed(std::vector<std::uint64_t> sizes) {
  MessageSizes result;
  result.smallest_ = *std::ranges::min_element(sizes);
  result.largest_ = *std::ranges::max_element(sizes);
  result.list_ = std::make_shared<const std::vector<std::uint64_t>>(std::move(sizes));
  return result;
}

MessageSizes MessageSizes::uniform(std::uint64_t first, std::uint64_t last) {
  return mixture({{first, last, 1}});
}

MessageSizes MessageSizes::mixture(std::vector<Stretch> stretches) {
  MessageSizes result;
  result.smallest_ = stretches.front().first;
  result.largest_ = stretches.back().last;
  result.stretches_ = std::make_shared<const std::vector<Stretch>>(std::move(stretches));
  return result;
}

std::uint64_t MessageSizes::draw(const Chance& chance, std::uint64_t number) const noexcept {
  if (!vary()) return largest_;
  if (!stretches_) return (*list_)[number % list_->size()];
  return quantile(chance.uniform(number));
}

std::vector<std::uint64_t> MessageSizes::representatives() const {
  if (!stretches_) return *list_;
  constexpr std::size_t kQuantiles = 65536;
  std::vector<std::uint64_t> sizes(vary() ? kQuantiles : 1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = quantile((static_cast<double>(i) + 0.5) / static_cast<double>(sizes.size()));
  }
  return sizes;
}

/// Of u in [0, 1): the stretch that it falls into, and how far.
std::uint64_t MessageSizes::quantile(double u) const noexcept {
  const auto& all = *stretches_;
  auto found = std::ranges::upper_bound(all, u, {}, &Stretch::cumulative);
  if (found == all.end()) found = all.end() - 1;
  const double below = found == all.begin() ? 0 : std::prev(found)->cumulative;
  const double share = (u - below) / (found->cumulative - below);
  const std::uint64_t width = found->last - found->first + 1;
  const auto into = static_cast<std::uint64_t>(share * static_cast<double>(width));
  return found->first + std::min(into, width - 1);
}

Parsed<MessageSizes> parse_size_distribution(std::string_view csv) {
  const auto points = read_points(csv);
  if (!points) return std::unexpected(points.error());
  if (points->empty() || points->back().cdf != 1) {
    return std::unexpected("expected points of a cumulative distribution whose last is 1");
  }
  std::vector<MessageSizes::Stretch> stretches;
  double reached = 0;
  std::uint64_t next = points->front().size;
  for (const Point& point : *points) {
    // Where the share doesn't rise there are no messages.
    if (point.cdf > reached) stretches.push_back({next, point.size, point.cdf});
    reached = point.cdf;
    next = point.size + 1;
  }
  return MessageSizes::mixture(std::move(stretches));
}

Parsed<MessageSizes> load_size_distribution(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) {
    return std::unexpected(fmt::format("expected a file of sizes, found none at {}", file));
  }
  auto sizes = parse_size_distribution(text.str());
  if (!sizes) return std::unexpected(fmt::format("{}: {}", file, sizes.error()));
  return sizes;
}

}  // namespace lw::config
