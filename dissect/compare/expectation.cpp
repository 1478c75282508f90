// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/compare/expectation.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/names.h"

namespace lw::dissect {
namespace {

using Kind = Metric::Kind;
using Relation = Expectation::Relation;

std::optional<double> share_of(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

template <std::uint64_t DirectionResult::* kCount>
std::optional<double> count_of(const DirectionResult& d) {
  return static_cast<double>(d.*kCount);
}

/// A quantile in permille.
template <int kPermille>
std::optional<double> delay_of(const DirectionResult& d) {
  if (d.delays.count() == 0) return std::nullopt;
  return static_cast<double>(d.delays.quantile(kPermille / 1000.0));
}

constexpr Metric kMetrics[] = {
    {"loss", "share of the sent frames that were lost", Kind::share,
     [](const DirectionResult& d) { return share_of(d.lost, d.sent); }},
    {"lost", "lost frames", Kind::count, count_of<&DirectionResult::lost>},
    {"duplicates", "further copies that arrived", Kind::count,
     count_of<&DirectionResult::duplicated>},
    {"reordered", "frames that arrived after later ones", Kind::count,
     count_of<&DirectionResult::reordered>},
    {"changed", "frames that were changed on the way", Kind::count,
     count_of<&DirectionResult::changed>},
    {"corrupt", "changed and invented frames with a bad ICRC", Kind::count,
     count_of<&DirectionResult::damaged>},
    {"invented", "frames that only the receiver's point saw", Kind::count,
     count_of<&DirectionResult::invented>},
    {"ce", "share of the received frames with ECN CE", Kind::share,
     [](const DirectionResult& d) { return share_of(d.ce, d.received); }},
    {"marked", "share of the received frames that were marked CE on the way", Kind::share,
     [](const DirectionResult& d) { return share_of(d.marked, d.received); }},
    {"min", "shortest one-way delay", Kind::time, delay_of<0>},
    {"p50", "median of the delay", Kind::time, delay_of<500>},
    {"p90", "90th percentile of the delay", Kind::time, delay_of<900>},
    {"p99", "99th percentile of the delay", Kind::time, delay_of<990>},
    {"p99.9", "99.9th percentile of the delay", Kind::time, delay_of<999>},
    {"max", "longest delay", Kind::time, delay_of<1000>},
    {"mean", "mean delay", Kind::time,
     [](const DirectionResult& d) {
       return d.delays.count() == 0 ? std::nullopt : std::optional(d.delays.mean());
     }},
    {"jitter", "mean difference between the delays of frames that arrived one after the other",
     Kind::time,
     [](const DirectionResult& d) {
       return d.delays.count() < 2 ? std::nullopt : std::optional(d.delays.jitter());
     }},
};

struct RelationName {
  std::string_view text;
  Relation relation;
};
// The longer ones first.
constexpr RelationName kRelations[] = {{"<=", Relation::at_most}, {">=", Relation::at_least},
                                       {"==", Relation::equal},   {"!=", Relation::other},
                                       {"<", Relation::below},    {">", Relation::above},
                                       {"=", Relation::equal}};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Parsed<const Metric*> find_metric(std::string_view name) {
  const auto at = std::ranges::find(kMetrics, name, &Metric::name);
  if (at != std::end(kMetrics)) return at;
  std::vector<std::string_view> names;
  for (const Metric& metric : kMetrics) names.push_back(metric.name);
  const std::string_view near = nearest(name, names);
  return std::unexpected(
      fmt::format("no metric \"{}\"{}", name,
                  near.empty() ? fmt::format(": expected one of {}", fmt::join(names, ", "))
                               : fmt::format(": did you mean \"{}\"?", near)));
}

Parsed<double> parse_count(std::string_view text) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size())
    return std::unexpected(
        fmt::format("expected a number of frames or a share (12, 0.1%), found \"{}\"", text));
  return static_cast<double>(count);
}

Parsed<void> read_value(Expectation& expectation, std::string_view text) {
  const auto store = [&](const auto& value) -> Parsed<void> {
    if (!value) return std::unexpected(value.error());
    if constexpr (requires { value->count(); }) {
      expectation.value = static_cast<double>(value->count());
    } else {
      expectation.value = *value;
    }
    return {};
  };
  if (expectation.metric->kind == Kind::time) return store(parse_duration(text));
  if (expectation.metric->kind == Kind::share) return store(parse_probability(text));
  expectation.of_sent = text.ends_with('%');
  return store(expectation.of_sent ? parse_probability(text) : parse_count(text));
}

bool compare_values(double measured, Relation relation, double value) noexcept {
  switch (relation) {
    case Relation::at_most:
      return measured <= value;
    case Relation::below:
      return measured < value;
    case Relation::at_least:
      return measured >= value;
    case Relation::above:
      return measured > value;
    case Relation::equal:
      return measured == value;
    case Relation::other:
      return measured != value;
  }
  return false;
}

Judgement judge_one(const Expectation& expectation, std::string direction,
                    const DirectionResult& result) {
  Judgement judgement{std::move(direction), &expectation, expectation.metric->measure(result),
                      false};
  if (!judgement.measured) return judgement;
  const double limit = expectation.of_sent ? expectation.value * static_cast<double>(result.sent)
                                           : expectation.value;
  judgement.holds = compare_values(*judgement.measured, expectation.relation, limit);
  return judgement;
}

/// Text in XML 1.0. Characters that it can't hold become U+FFFD.
std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\xef\xbf\xbd";
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string case_xml(const TestCase& test) {
  const std::string head = fmt::format(R"(    <testcase classname="{}" name="{}" time="0">)",
                                       xml_text(test.suite), xml_text(test.name));
  const std::string body =
      test.passed ? fmt::format("<system-out>measured: {}</system-out>", xml_text(test.measured))
                  : fmt::format(R"(<failure type="expectation" message="measured: {}"/>)",
                                xml_text(test.measured));
  return head + body + "</testcase>\n";
}

std::size_t failures_of(std::span<const TestCase> cases) {
  return static_cast<std::size_t>(
      std::ranges::count_if(cases, [](const TestCase& test) { return !test.passed; }));
}

}  // namespace

std::span<const Metric> all_metrics() { return kMetrics; }

Parsed<Expectation> parse_expectation(std::string_view text) {
  const std::size_t end = text.find_first_of("<>=!");
  const std::string_view behind = end == std::string_view::npos ? "" : text.substr(end);
  const auto relation = std::ranges::find_if(
      kRelations, [&](const RelationName& r) { return behind.starts_with(r.text); });
  if (relation == std::end(kRelations))
    return std::unexpected(fmt::format(
        "expected METRIC<=VALUE, or one of < >= > == != in place of <=, found \"{}\"", text));
  Expectation expectation{.text = std::string(text)};
  const auto metric = find_metric(trimmed(text.substr(0, end)));
  if (!metric) return std::unexpected(metric.error());
  expectation.metric = *metric;
  expectation.relation = relation->relation;
  const auto read = read_value(expectation, trimmed(behind.substr(relation->text.size())));
  if (!read) return std::unexpected(fmt::format("{}: {}", (*metric)->name, read.error()));
  return expectation;
}

std::vector<Judgement> judge(std::span<const Expectation> expectations,
                             const Comparison& comparison) {
  std::vector<Judgement> judgements;
  for (const Expectation& expectation : expectations) {
    const DirectionResult &there = comparison.near_to_far, &back = comparison.far_to_near;
    if (there.seen()) judgements.push_back(judge_one(expectation, "near > far", there));
    if (back.seen()) judgements.push_back(judge_one(expectation, "far > near", back));
    if (!there.seen() && !back.seen())
      judgements.push_back({"", &expectation, std::nullopt, false});
  }
  return judgements;
}

std::string measured_text(const Judgement& judgement) {
  if (!judgement.measured) return "none";
  const double value = *judgement.measured;
  switch (judgement.expectation->metric->kind) {
    case Kind::count:
      return fmt::format("{:.0f}", value);
    case Kind::share:
      return fmt::format("{:.4g} %", value * 100);
    case Kind::time:
      return fmt::format("{:.3f} us", value / 1000);
  }
  return {};
}

TestCase test_case_of(const Judgement& judgement) {
  return {judgement.direction.empty() ? "no RoCE frames" : judgement.direction,
          judgement.expectation->text, measured_text(judgement), judgement.holds};
}

std::string junit_xml(std::span<const TestCase> cases) {
  std::vector<std::string> suites;
  for (const TestCase& test : cases)
    if (std::ranges::find(suites, test.suite) == suites.end()) suites.push_back(test.suite);
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"roce-dissect compare\" tests=\"{}\" failures=\"{}\" errors=\"0\">\n",
      cases.size(), failures_of(cases));
  for (const std::string& suite : suites) {
    std::vector<TestCase> own;
    std::ranges::copy_if(cases, std::back_inserter(own),
                         [&](const TestCase& test) { return test.suite == suite; });
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\" "
        "time=\"0\">\n",
        xml_text(suite), own.size(), failures_of(own));
    for (const TestCase& test : own) text += case_xml(test);
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace lw::dissect
