// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/compare/compare_format.h"

#include <array>

#include <fmt/format.h>

#include "core/quantity.h"
#include "report/json_line.h"
#include "report/table.h"

namespace lw::dissect {
namespace {

using report::Json;

constexpr const char* kCaptureLoss =
    "Loss of the capturing looks like loss of the path: a frame that only one capture holds may\n"
    "have been lost, or the other capture missed it.\n";

struct Statistic {
  const char* title;
  const char* key;
  double value_ns;
};

std::array<Statistic, 6> statistics_of(const Delays& delays) {
  const auto quantile = [&](double q) { return static_cast<double>(delays.quantile(q)); };
  return {{{"min", "min", quantile(0)},
           {"mean", "mean", delays.mean()},
           {"p50", "p50", quantile(0.5)},
           {"p99", "p99", quantile(0.99)},
           {"p99.9", "p999", quantile(0.999)},
           {"max", "max", quantile(1)}}};
}

std::string microseconds(double ns) { return fmt::format("{:.3f} us", ns / 1000); }
std::string signed_microseconds(double ns) { return fmt::format("{:+.3f} us", ns / 1000); }
std::string percent(double share) { return fmt::format("{:.4g} %", share * 100); }

bool within(const Proportion& p, double asked) noexcept {
  return p.low <= asked && asked <= p.high;
}

std::string loss_text(const DirectionResult& d, const Asked& asked) {
  const Proportion loss = d.loss();
  std::string text =
      fmt::format("  lost {} of {}: {} (95 % confidence: {} to {})\n", d.lost, d.sent,
                  percent(loss.value), percent(loss.low), percent(loss.high));
  if (asked.loss) {
    text += fmt::format("  asked {}: {} the interval\n", percent(*asked.loss),
                        within(loss, *asked.loss) ? "within" : "OUTSIDE");
  }
  return text;
}

std::string delay_text(const DirectionResult& d, const Asked& asked) {
  if (d.delays.count() == 0) return "  no frame was seen at both points: no delay to show\n";
  std::vector<report::Table::Column> columns = {{"one-way delay"},
                                                {"measured", report::Align::right}};
  if (asked.delay) columns.push_back({"less asked", report::Align::right});
  report::Table table(std::move(columns));
  for (const Statistic& s : statistics_of(d.delays)) {
    std::vector<std::string> row = {s.title, microseconds(s.value_ns)};
    if (asked.delay) {
      row.push_back(signed_microseconds(s.value_ns - static_cast<double>(asked.delay->count())));
    }
    table.add_row(std::move(row));
  }
  std::string text = table.to_string(2);
  if (asked.delay) text += fmt::format("  asked {}\n", format_duration(*asked.delay));
  if (d.ambiguous > 0) {
    text += fmt::format("  {} frames equal to lost or copied ones: no delay taken\n", d.ambiguous);
  }
  return text;
}

std::string direction_text(const char* title, const DirectionResult& d, const Asked& asked) {
  if (!d.seen()) return {};
  std::string text = fmt::format("\n{}: {} sent, {} received\n", title, d.sent, d.received);
  text += loss_text(d, asked);
  text += fmt::format(
      "  {} invented ({} of them with a bad ICRC: damaged on the way), {} "
      "duplicated, {} reordered\n",
      d.invented, d.damaged, d.duplicated, d.reordered);
  return text + delay_text(d, asked);
}

std::string point_text(const char* title, const CapturePoint& point) {
  std::string text =
      fmt::format("{} {}: {} frames, {} RoCE", title, point.file, point.frames, point.roce);
  if (point.unidentified > 0) {
    text += fmt::format("; {} cut or in fragments, so left out", point.unidentified);
  }
  return text + "\n";
}

Json point_json(const CapturePoint& point) {
  Json object;
  object["file"] = point.file;
  object["frames"] = point.frames;
  object["roce"] = point.roce;
  object["unidentified"] = point.unidentified;
  return object;
}

void add_loss(Json& object, const DirectionResult& d, const Asked& asked) {
  const Proportion loss = d.loss();
  object["loss"] = loss.value;
  object["loss_low"] = loss.low;
  object["loss_high"] = loss.high;
  if (!asked.loss) return;
  object["asked_loss"] = *asked.loss;
  object["asked_loss_within"] = within(loss, *asked.loss);
}

void add_delay(Json& object, const DirectionResult& d, const Asked& asked) {
  Json delay;
  delay["count"] = d.delays.count();
  if (d.delays.count() > 0) {
    for (const Statistic& s : statistics_of(d.delays)) delay[s.key] = s.value_ns;
  }
  object["delay_ns"] = std::move(delay);
  if (!asked.delay) return;
  object["asked_delay_ns"] = asked.delay->count();
  Json error;
  if (d.delays.count() > 0) {
    for (const Statistic& s : statistics_of(d.delays)) {
      error[s.key] = s.value_ns - static_cast<double>(asked.delay->count());
    }
  }
  object["delay_error_ns"] = std::move(error);
}

Json direction_json(const char* name, const DirectionResult& d, const Asked& asked) {
  Json object;
  object["direction"] = name;
  object["sent"] = d.sent;
  object["received"] = d.received;
  object["lost"] = d.lost;
  add_loss(object, d, asked);
  object["invented"] = d.invented;
  object["damaged"] = d.damaged;
  object["duplicated"] = d.duplicated;
  object["reordered"] = d.reordered;
  object["ambiguous"] = d.ambiguous;
  add_delay(object, d, asked);
  return object;
}

}  // namespace

std::string comparison_text(const CapturePoint& near, const CapturePoint& far,
                            const Comparison& comparison, const Asked& asked) {
  std::string text = point_text("near", near) + point_text("far ", far);
  text += direction_text("near > far", comparison.near_to_far, asked);
  text += direction_text("far > near", comparison.far_to_near, asked);
  if (comparison.forgotten_flows > 0)
    text += fmt::format(
        "\n{} flows, seen least recently, were more than --max-flows: their frames are judged one "
        "by one\n",
        comparison.forgotten_flows);
  return text + "\n" + kCaptureLoss;
}

std::string comparison_json(const CapturePoint& near, const CapturePoint& far,
                            const Comparison& comparison, const Asked& asked) {
  Json line;
  line["near"] = point_json(near);
  line["far"] = point_json(far);
  line["directions"] = Json::array();
  if (comparison.near_to_far.seen()) {
    line["directions"].push_back(direction_json("near_to_far", comparison.near_to_far, asked));
  }
  if (comparison.far_to_near.seen()) {
    line["directions"].push_back(direction_json("far_to_near", comparison.far_to_near, asked));
  }
  if (comparison.forgotten_flows > 0) line["forgotten_flows"] = comparison.forgotten_flows;
  line["note"] = "loss of the capturing looks like loss of the path";
  return report::json_line(line);
}

}  // namespace lw::dissect
