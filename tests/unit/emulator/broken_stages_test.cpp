// SPDX-License-Identifier: BSD-3-Clause
// For each stage with an audit: a broken stage in its place, and the audit says so. A new stage
// with an audit does not compile here without its row.
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "emulator/link.h"
#include "emulator/stats/audit.h"
#include "support/path_frames.h"
#include "support/stage_runs.h"

namespace lw::emulator {
namespace broken_stages_test {

constexpr std::uint64_t kFrames = 100'000;

Instant came(std::uint64_t frame) {
  return instant_from_ns(static_cast<std::int64_t>(frame) * 1000);
}

template <class Change>
RuleConfig changed(RuleConfig rule, Change change) {
  change(rule);
  return rule;
}

/// A stage that does something else than its rule asks for. `asked()` is the rule.
template <class S>
struct Broken;

template <>
struct Broken<Police> : Police {
  static RuleConfig asked() {
    return changed(test::stage_rule(), [](auto& r) {
      r.police = PoliceConfig{.rate_bps = 3e9, .burst_bytes = 100'000};
    });
  }
  Broken(const RuleConfig& rule, const StageSetup& setup)
      : Police(changed(rule, [](auto& r) { r.police->rate_bps *= 1.01; }), setup) {}
};

/// Loses the right share, but each frame on its own.
template <>
struct Broken<Loss> : Loss {
  static RuleConfig asked() {
    return changed(test::stage_rule(),
                   [](auto& r) { r.loss = GilbertElliott{.p = 0.01, .r = 0.25}; });
  }
  Broken(const RuleConfig& rule, const StageSetup& setup)
      : Loss(changed(rule, [](auto& r) { r.loss = expected_loss(r.loss, 1000); }), setup) {}
};

template <>
struct Broken<Corrupt> : Corrupt {
  static RuleConfig asked() {
    return changed(test::stage_rule(),
                   [](auto& r) { r.corrupt = CorruptConfig{.probability = 0.02}; });
  }
  Broken(const RuleConfig& rule, const StageSetup& setup)
      : Corrupt(changed(rule, [](auto& r) { r.corrupt->probability = 0.025; }), setup) {}
};

/// Draws independently where a correlation is asked for.
template <>
struct Broken<Duplicate> : Duplicate {
  static RuleConfig asked() {
    return changed(test::stage_rule(), [](auto& r) {
      r.duplicate = DuplicateConfig{.probability = 0.2, .correlation = 0.5};
    });
  }
  Broken(const RuleConfig& rule, const StageSetup& setup)
      : Duplicate(changed(rule, [](auto& r) { r.duplicate->correlation = 0; }), setup) {}
};

/// Lets in one frame more.
template <>
struct Broken<Limit> : Limit {
  static RuleConfig asked() {
    return changed(test::stage_rule(), [](auto& r) { r.limit = 5; });
  }
  Broken(const RuleConfig& rule, const StageSetup& setup)
      : Limit(changed(rule, [](auto& r) { ++*r.limit; }), setup) {}
};

template <>
struct Broken<Rewrite> : Rewrite {
  static RuleConfig asked() {
    return changed(test::stage_rule(),
                   [](auto& r) { r.rewrite = RewriteConfig{.probability = 0.5, .dscp = 5}; });
  }
  Broken(const RuleConfig& rule, const StageSetup& setup)
      : Rewrite(changed(rule, [](auto& r) { r.rewrite->probability = 0.52; }), setup) {}
};

template <>
struct Broken<Mark> : Mark {
  static RuleConfig asked() {
    return changed(test::stage_rule(), [](auto& r) { r.mark = MarkConfig{.probability = 0.04}; });
  }
  Broken(const RuleConfig& rule, const StageSetup& setup)
      : Mark(changed(rule, [](auto& r) { r.mark->probability = 0.045; }), setup) {}
};

/// A link faster than asked for. The scheduler's own faults are below.
template <>
struct Broken<Queue> : Queue {
  static RuleConfig asked() {
    return changed(test::stage_rule(), [](auto& r) {
      r.queue = QueueConfig{.rate_bps = 5e9, .buffer_bytes = 200'000'000};
    });
  }
  static RuleConfig done(const RuleConfig& rule) {
    return changed(rule, [](auto& r) { r.queue->rate_bps *= 1.001; });
  }
};

template <>
struct Broken<Slot> : Slot {
  static RuleConfig asked() {
    return changed(test::stage_rule(), [](auto& r) {
      r.slot = SlotConfig{.least = Duration{5000}, .most = Duration{9000}, .frames = 4};
    });
  }
  Broken(const RuleConfig& rule, const StageSetup& setup)
      : Slot(changed(rule, [](auto& r) { r.slot->least = Duration{4800}; }), setup) {}
};

template <>
struct Broken<Delay> : Delay {
  static RuleConfig asked() {
    return changed(test::stage_rule(), [](auto& r) {
      r.delay = Duration{1000};
      r.jitter = JitterConfig{GammaDelay{2, 1000}, {}};
    });
  }
  Broken(const RuleConfig& rule, const StageSetup& setup)
      : Delay(changed(rule, [](auto& r) { r.jitter->distribution = GammaDelay{2, 1020}; }), setup) {
  }
};

template <>
struct Broken<Reorder> : Reorder {
  static RuleConfig asked() {
    return changed(test::stage_rule(), [](auto& r) {
      r.reorder = ReorderConfig{.fraction = 0.05, .by = Duration{100}};
    });
  }
  Broken(const RuleConfig& rule, const StageSetup& setup)
      : Reorder(changed(rule, [](auto& r) { r.reorder->fraction = 0.055; }), setup) {}
};

/// The link counts the groups when they leave: here it holds frames for other groups.
template <>
struct Broken<Accumulate> : Accumulate {
  static RuleConfig asked() {
    return changed(test::stage_rule(), [](auto& r) {
      r.accumulate = AccumulateConfig{.frames = 8, .time = Duration{20'000}};
    });
  }
  static RuleConfig done(const RuleConfig& rule) {
    return changed(rule, [](auto& r) { ++r.accumulate->frames; });
  }
};

const std::vector<std::byte>& frame() {
  static const std::vector<std::byte> bytes = test::roce_frame(0x11, 0, 930);
  return bytes;
}

/// The statistics of a stage that frames passed, 1,000 B each, a microsecond apart. Each frame that
/// is not dropped is inside for 10 us.
template <class S>
RuleStats stats_of(S&& stage, const RuleConfig& rule) {
  RuleStats stats;
  if constexpr (requires { stage.prepare(rule, stats); }) stage.prepare(rule, stats);
  const roce::Envelope envelope = roce::open_envelope(frame());
  std::deque<Instant> leaves;
  for (std::uint64_t i = 0; i < kFrames; ++i) {
    const Instant now = came(i);
    while (!leaves.empty() && leaves.front() <= now) leaves.pop_front();
    static constexpr EventActions kNone;
    Decision decision;
    Passage passage{i, 1000, 0, now, now, kNone, decision};
    passage.inside = leaves.size();
    if constexpr (requires { stage.begin(passage, stats); }) stage.begin(passage, stats);
    if constexpr (requires { stage.apply(passage, stats, envelope); }) {
      stage.apply(passage, stats, envelope);
    } else {
      stage.apply(passage, stats);
    }
    if (decision.action != Action::drop) leaves.push_back(now + std::chrono::microseconds(10));
    stats.count(decision.acted);
  }
  return stats;
}

/// The statistics of a link with one rule.
RuleStats stats_of_link(const RuleConfig& rule) {
  Link<int> link(Pipeline(Direction::west_to_east, 1, std::vector{rule}), {});
  test::VirtualRun run(link);
  for (std::uint64_t i = 0; i < kFrames; ++i)
    EXPECT_TRUE(run.admit(static_cast<int>(i), frame(), came(i)));
  run.finish();
  return link.pipeline().rules()[0].stats();
}

/// The names of the checks, and of those that do not hold.
std::pair<std::string, std::string> judged(const RuleConfig& rule, const RuleStats& stats) {
  std::pair<std::string, std::string> names;
  for (const Check& check : audit(rule, stats)) {
    names.first += std::string(check.what) + "; ";
    if (!check.holds()) names.second += std::string(check.what) + "; ";
  }
  return names;
}

template <class S>
void expect_the_audit_to_find_the_broken_stage() {
  SCOPED_TRACE(S::kName);
  const RuleConfig rule = Broken<S>::asked();
  const StageSetup setup{.seed = 1, .direction = Direction::west_to_east};
  std::pair<std::string, std::string> right, broken;
  if constexpr (requires { Broken<S>::done(rule); }) {
    right = judged(rule, stats_of_link(rule));
    broken = judged(rule, stats_of_link(Broken<S>::done(rule)));
  } else {
    right = judged(rule, stats_of(S(rule, setup), rule));
    broken = judged(rule, stats_of(Broken<S>(rule, setup), rule));
  }
  EXPECT_NE(right.first, "");
  EXPECT_EQ(right.second, "");
  EXPECT_NE(broken.second, "");
}

/// The checks that do not hold of a queue that does `done` where `asked` is asked for. Frames of
/// 1,000 B come to both classes faster than the link sends them.
std::string judged_queue(const LineQueueConfig& asked, const LineQueueConfig& done) {
  RulesQueue queue("r", done);
  queue.watch = ServiceWatch(asked);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    while (queue.depart(came(i), [](const auto&, std::uint64_t) {})) continue;
    for (const std::uint32_t cls : {0U, 1U})
      if (queue.frames.enqueue(cls, 1000, {.came = came(i)}, came(i)))
        queue.watch.came(cls, 1000, came(i));
  }
  RuleConfig rule = test::stage_rule();
  rule.shared = QueueUse{.owner = "r", .queue = asked, .pauses = {}};
  RuleStats stats;
  stats.service = queue.watch.stats();
  return judged(rule, stats).second;
}

TEST(BrokenStages, TheAuditFindsAWrongScheduler) {
  LineQueueConfig asked{.rate_bps = 5'000'000'000, .buffer_bytes = 500'000};
  asked.classes = {{.order = {0, 3}, .buffer = {.limit_bytes = 250'000}},
                   {.order = {0, 1}, .buffer = {.limit_bytes = 250'000}}};
  EXPECT_EQ(judged_queue(asked, asked), "");
  LineQueueConfig other = asked;
  other.classes[0].order.weight = 2;
  EXPECT_EQ(judged_queue(asked, other), "difference of shares, per weight; ");
  other = asked;
  other.classes[1].order.priority = 1;
  EXPECT_EQ(judged_queue(asked, other), "difference of shares, per weight; ");
  EXPECT_EQ(judged_queue(other, asked), "left before a higher priority; ");
  other = asked;
  other.buffer_bytes = 600'000;
  other.classes[0].buffer.limit_bytes = 350'000;
  EXPECT_EQ(judged_queue(asked, other), "fullest buffer; ");
}

TEST(BrokenStages, TheAuditSaysSo) {
  std::vector<std::string_view> without;
  Stages::for_each([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::audit)) {
      expect_the_audit_to_find_the_broken_stage<S>();
    } else {
      without.push_back(S::kName);
    }
  });
  // An outage drops every frame, which the accounts show; events have their own check; a trace's
  // losses, rates and delays are those of the stages.
  EXPECT_EQ(without, (std::vector<std::string_view>{"outage", "event", "trace"}));
}

}  // namespace broken_stages_test
}  // namespace lw::emulator
