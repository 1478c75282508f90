// SPDX-License-Identifier: BSD-3-Clause
// Rules that change while frames wait, beside an exact model of what
// docs/reference/changing-a-profile.md says: integers only, and no code of the emulator.
#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/chance.h"
#include "support/path_frames.h"

namespace lw::emulator {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kSequences = 200;
#else
constexpr std::uint64_t kSequences = 2000;
#endif

using Time = std::int64_t;  // ns

/// What a rule of the model has. Rates in Mb/s: a link of r Mb/s sends r/1000 bits in a nanosecond,
/// so all sums below are integers.
struct Settings {
  Time delay = 0;
  std::optional<std::int64_t> queue_mbps = {};
  std::int64_t buffer = 0, overhead = 24;
  bool obeys = false;  // pauses of priority 3
  std::optional<std::int64_t> police_mbps = {};
  std::int64_t burst = 0;
};

RuleConfig config_of(const Settings& s) {
  RuleConfig rule;
  rule.name = "r";
  rule.delay = Duration{s.delay};
  if (s.queue_mbps) {
    rule.queue = QueueConfig{.rate_bps = static_cast<double>(*s.queue_mbps) * 1e6,
                             .buffer_bytes = static_cast<std::uint64_t>(s.buffer),
                             .overhead = static_cast<std::uint32_t>(s.overhead)};
    if (s.obeys) rule.queue->pfc = PauseConfig{.priority = 3};
  }
  if (s.police_mbps)
    rule.police = PoliceConfig{.rate_bps = static_cast<double>(*s.police_mbps) * 1e6,
                               .burst_bytes = static_cast<std::uint64_t>(s.burst)};
  return rule;
}

/// Frames in a buffer, served in turn. Work is counted in thousandths of a bit.
class ModelQueue {
 public:
  struct Frame {
    int handle;
    std::int64_t bytes, work;
  };
  struct Departure {
    int handle;
    Time at;
  };

  ModelQueue(const Settings& s) : rate_(*s.queue_mbps), overhead_(s.overhead) {}

  [[nodiscard]] std::int64_t occupied() const {
    std::int64_t sum = 0;
    for (const Frame& frame : frames_) sum += frame.bytes;
    return sum;
  }
  /// Advances to `now`. Returns the frames that have left by then.
  std::vector<Departure> advance(Time now) {
    std::vector<Departure> gone;
    while (!frames_.empty()) {
      if (done_ == 0 && !begun_) {
        if (now < paused_until_) {
          clock_ = now;
          spare_ = 0;
          return gone;
        }
        if (clock_ < paused_until_) {
          clock_ = paused_until_;
          spare_ = 0;
        }
        begun_ = true;
        done_ = spare_;
        spare_ = 0;
      }
      const std::int64_t left = frames_.front().work - done_;
      const Time takes = std::max<Time>(0, (left + rate_ - 1) / rate_);
      if (clock_ + takes > now) {
        done_ += (now - clock_) * rate_;
        clock_ = now;
        return gone;
      }
      clock_ += takes;
      // The next frame begins within this nanosecond.
      spare_ = done_ + takes * rate_ - frames_.front().work;
      gone.push_back({frames_.front().handle, clock_});
      frames_.pop_front();
      done_ = 0;
      begun_ = false;
    }
    clock_ = now;
    spare_ = 0;
    return gone;
  }
  /// These require advance(now).
  void add(int handle, std::int64_t bytes) {
    frames_.push_back({handle, bytes, (bytes + overhead_) * 8000});
  }
  void pause(Time until) { paused_until_ = until; }
  void end_pause() { paused_until_ = 0; }
  void change(const Settings& s) {
    rate_ = *s.queue_mbps;
    if (s.overhead != overhead_)
      for (std::size_t i = begun_ ? 1 : 0; i < frames_.size(); ++i)
        frames_[i].work += (s.overhead - overhead_) * 8000;
    overhead_ = s.overhead;
    spare_ = 0;
  }
  [[nodiscard]] bool empty() const { return frames_.empty(); }

 private:
  std::int64_t rate_, overhead_;
  std::deque<Frame> frames_;
  Time clock_ = 0, paused_until_ = 0;
  bool begun_ = false;      // bits of the first frame have left
  std::int64_t done_ = 0;   // work on it
  std::int64_t spare_ = 0;  // of the last nanosecond, for the next frame
};

/// Tokens in 1/8000 of a byte.
class ModelPolicer {
 public:
  ModelPolicer(const Settings& s)
      : rate_(*s.police_mbps), burst_(s.burst * 8000), tokens_(burst_) {}

  void advance(Time now) {
    if (filled_) tokens_ = std::min(burst_, tokens_ + (now - *filled_) * rate_);
    if (filled_) filled_ = now;
  }
  /// What is left once a frame of this cost has passed.
  [[nodiscard]] std::int64_t left(std::int64_t bytes) const { return tokens_ - bytes * 8000; }
  void see(Time now) { filled_ = now; }
  void pass(std::int64_t bytes) { tokens_ -= bytes * 8000; }
  void change(const Settings& s) {
    rate_ = *s.police_mbps;
    burst_ = s.burst * 8000;
    tokens_ = filled_ ? std::min(burst_, tokens_) : burst_;
  }

 private:
  std::int64_t rate_, burst_, tokens_;
  std::optional<Time> filled_;  // none: no frame yet
};

/// A random sequence, and what became of it.
class Sequence {
 public:
  explicit Sequence(std::uint64_t seed)
      : chance_(seed, 40),
        rule_(config_of(settings_)),
        link_(Pipeline(Direction::west_to_east, seed, std::span(&rule_, 1)), {.capacity = 4096}),
        run_(link_) {
    change_all();
    apply();
  }

  void go() {
    const std::uint64_t steps = 20 + draw(80);
    for (std::uint64_t i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      now_ += static_cast<Time>(draw(4) == 0 ? draw(40'000) : draw(900));
      const std::uint64_t what = draw(12);
      if (what == 0) {
        change_one();
        apply();
      } else if (what == 1) {
        pause();
      } else {
        admit();
      }
    }
    run_.finish();
    leave(queue_ ? queue_->advance(now_ + 1'000'000'000'000)
                 : std::vector<ModelQueue::Departure>{});
    compare();
  }

 private:
  std::uint64_t draw(std::uint64_t below) { return chance_.bits(drawn_++) % below; }

  void change_all() {
    settings_.delay = static_cast<Time>(draw(50'000));
    if (draw(5) > 0) settings_.queue_mbps = 500 + static_cast<std::int64_t>(draw(9'500));
    settings_.buffer = 500 + static_cast<std::int64_t>(draw(12'000));
    settings_.obeys = draw(2) == 0;
    settings_.burst = 1200 + static_cast<std::int64_t>(draw(9'000));
    if (draw(3) == 0) settings_.police_mbps = 500 + static_cast<std::int64_t>(draw(9'500));
  }
  void change_one() {
    const Settings before = settings_;
    Settings other;
    std::swap(settings_, other);
    change_all();
    std::swap(settings_, other);
    settings_ = before;
    switch (draw(7)) {
      case 0:
        settings_.delay = other.delay;
        break;
      case 1:
        settings_.queue_mbps = other.queue_mbps;
        break;
      case 2:
        settings_.buffer = other.buffer;
        break;
      case 3:
        settings_.overhead = static_cast<std::int64_t>(draw(100));
        break;
      case 4:
        settings_.obeys = other.obeys;
        break;
      case 5:
        settings_.police_mbps = other.police_mbps;
        break;
      default:
        settings_.burst = other.burst;
        break;
    }
  }
  void apply() {
    run_.advance(instant_from_ns(now_));
    advance_model();
    rule_ = config_of(settings_);
    Link<int>::PreparedPipeline next(Pipeline(Direction::west_to_east, 1, std::span(&rule_, 1), {},
                                              link_.pipeline().rule_names()));
    link_.replace(next, instant_from_ns(now_));
    ++changes_;
    const Time former = delay_;
    delay_ = settings_.delay;
    if (queue_ && !settings_.queue_mbps) {
      // The frames of a queue that is removed leave as they would have.
      delay_ = former;
      leave(queue_->advance(now_ + 1'000'000'000'000));
      delay_ = settings_.delay;
      queue_.reset();
    } else if (queue_) {
      queue_->change(settings_);
      if (!settings_.obeys) queue_->end_pause();
    } else if (settings_.queue_mbps) {
      queue_.emplace(settings_);
      static_cast<void>(queue_->advance(now_));
    }
    if (!settings_.police_mbps) {
      policer_.reset();
    } else if (policer_) {
      policer_->change(settings_);
    } else {
      policer_.emplace(settings_);
    }
  }
  void pause() {
    const auto quanta = static_cast<std::uint16_t>(draw(3) == 0 ? 0 : draw(60));
    run_.advance(instant_from_ns(now_));
    advance_model();
    wire::PfcFields asked;
    asked.quanta[3] = quanta;
    link_.pause(asked, instant_from_ns(now_));
    if (queue_ && settings_.obeys)
      queue_->pause(now_ + Time{quanta} * 512 * 1000 / *settings_.queue_mbps);
  }
  void admit() {
    const auto payload = 8 + draw(1000);
    const auto frame = test::roce_frame(1, 0, payload);
    const auto bytes = std::max<std::int64_t>(static_cast<std::int64_t>(frame.size()), 60);
    const int handle = static_cast<int>(due_.size());
    due_.emplace_back();
    const bool kept = run_.admit(handle, frame, instant_from_ns(now_));
    advance_model();
    if (policer_) {
      const std::int64_t left = policer_->left(bytes + 24);
      policer_->see(now_);
      // A frame that costs all tokens to a thousandth of a byte may pass or not.
      const bool passes = std::abs(left) < 8 ? kept : left >= 0;
      if (!passes) return expect_dropped(kept, "policer");
      policer_->pass(bytes + 24);
    }
    if (!queue_) return expect_kept(kept, [&] { leave({{handle, now_}}); });
    const std::int64_t occupied = queue_->occupied();
    if (occupied + bytes > settings_.buffer) {
      // A departure at this very nanosecond may be counted before or after.
      if (!kept) return;
      ModelQueue later = *queue_;
      static_cast<void>(later.advance(now_ + 1));
      ASSERT_LE(later.occupied() + bytes, settings_.buffer) << "admitted to a full buffer";
    }
    expect_kept(kept, [&] { queue_->add(handle, bytes); });
  }
  void expect_dropped(bool kept, const char* by) const { EXPECT_FALSE(kept) << by; }
  template <class Then>
  void expect_kept(bool kept, Then then) {
    ASSERT_TRUE(kept) << "at " << now_;
    then();
  }
  void advance_model() {
    if (policer_) policer_->advance(now_);
    if (queue_) leave(queue_->advance(now_));
  }
  /// Frames enter the fibre; none leaves before an earlier one.
  void leave(const std::vector<ModelQueue::Departure>& departures) {
    for (const auto& [handle, at] : departures) {
      last_ = std::max(last_, at + delay_);
      due_[static_cast<std::size_t>(handle)] = last_;
    }
  }
  void compare() {
    // Each departure is rounded to a nanosecond; a frame that waits for one before it leaves one
    // nanosecond later per change.
    const Time slack = 2 + changes_;
    std::vector<std::optional<Time>> left(due_.size());
    for (const auto& exit : run_.exits())
      left[static_cast<std::size_t>(exit.handle)] = to_ns(exit.at);
    for (std::size_t i = 0; i < due_.size(); ++i) {
      ASSERT_EQ(left[i].has_value(), due_[i].has_value()) << i;
      if (due_[i]) {
        ASSERT_LE(std::abs(*left[i] - *due_[i]), slack) << "frame " << i;
      }
    }
    EXPECT_TRUE(link_.accounting().holds());
  }

  Chance chance_;
  std::uint64_t drawn_ = 0;
  Settings settings_;
  RuleConfig rule_;
  Link<int> link_;
  test::VirtualRun<NoFrameAccess<int>> run_;
  Time now_ = 1'000'000, delay_ = 0, last_ = 0;
  Time changes_ = 0;
  std::optional<ModelQueue> queue_;
  std::optional<ModelPolicer> policer_;
  std::vector<std::optional<Time>> due_;  // by handle; none: dropped
};

TEST(ChangeProperty, FramesThatWaitDoAsTheManualSays) {
  for (std::uint64_t seed = 0; seed < kSequences && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("sequence " + std::to_string(seed));
    Sequence(seed).go();
  }
}

}  // namespace
}  // namespace lw::emulator
