// SPDX-License-Identifier: BSD-3-Clause
// The queue of several classes, beside a model that works nanosecond by nanosecond.
#include "emulator/queue/line_queue.h"

#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/chance.h"

namespace lw::emulator {
namespace line_queue_test {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kSequences = 60;
#else
constexpr std::uint64_t kSequences = 600;
#endif

using Time = std::int64_t;  // ns
using Queue = LineQueue<int>;

struct Event {
  int frame;
  Time starts, departs;
  std::int64_t behind, in_queue;
  friend bool operator==(const Event&, const Event&) = default;
};

std::string text_of(const Event& e) {
  return "frame " + std::to_string(e.frame) + " " + std::to_string(e.starts) + "-" +
         std::to_string(e.departs) + " behind " + std::to_string(e.behind) + " of " +
         std::to_string(e.in_queue);
}

/// What docs say about a queue of classes, done in steps of 1 ns: a link of r b/s does r units of
/// work in each, and a frame costs 8e9 units a byte.
class Model {
 public:
  struct Frame {
    int number;
    std::int64_t bytes;
  };
  struct Class {
    std::uint32_t priority = 0;
    std::int64_t weight = 1, reserve = 0, limit = 0;
    double alpha = 0;
    std::deque<Frame> frames;
    std::int64_t credit = 0;
    Time paused_until = -1;
  };

  void configure(const LineQueueConfig& config) {
    bool same = config.classes.size() == classes_.size() && config.quantum_bytes == quantum_;
    const std::size_t before = classes_.size();
    std::size_t keep = config.classes.size();
    for (std::size_t c = keep; c < before; ++c)
      if (!classes_[c].frames.empty()) keep = c + 1;
    for (std::size_t c = config.classes.size(); c < keep; ++c)
      if (classes_[c].frames.empty()) {
        classes_[c].priority = config.classes[0].order.priority;
        classes_[c].weight = config.classes[0].order.weight;
      }
    classes_.resize(keep);
    std::int64_t reserved = 0;
    for (std::size_t c = 0; c < keep; ++c) {
      Class& it = classes_[c];
      if (c >= config.classes.size()) {
        it.reserve = 0;
        continue;
      }
      const QueueClassConfig& asked = config.classes[c];
      same = same && it.priority == asked.order.priority && it.weight == asked.order.weight;
      it.priority = asked.order.priority;
      it.weight = asked.order.weight;
      it.reserve = static_cast<std::int64_t>(asked.buffer.reserve_bytes);
      it.limit = asked.buffer.limit_bytes > 1'000'000'000
                     ? 1'000'000'000
                     : static_cast<std::int64_t>(asked.buffer.limit_bytes);
      it.alpha = asked.buffer.alpha;
      reserved += it.reserve;
    }
    buffer_ = static_cast<std::int64_t>(config.buffer_bytes);
    pool_ = buffer_ - reserved;
    rate_ = static_cast<std::int64_t>(config.rate_bps);
    overhead_ = config.cost.overhead;
    quantum_ = config.quantum_bytes;
    if (same) return;
    turns_.clear();
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      classes_[c].credit = 0;
      turns_[classes_[c].priority].push_back(c);
    }
    // Nobody has had a turn: the first class is next.
    for (auto& [priority, order] : turns_) {
      order.push_front(order.back());
      order.pop_back();
    }
  }

  [[nodiscard]] std::int64_t in(std::size_t c) const {
    std::int64_t sum = 0;
    for (const Frame& f : classes_[c].frames) sum += f.bytes;
    return sum;
  }
  [[nodiscard]] std::int64_t in_queue() const {
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c) sum += in(c);
    return sum;
  }
  bool add(std::size_t c, int number, std::int64_t bytes) {
    bytes = std::max<std::int64_t>(bytes, 60);
    std::int64_t used = 0;
    for (std::size_t i = 0; i < classes_.size(); ++i)
      used += std::max<std::int64_t>(0, in(i)-classes_[i].reserve);
    const std::int64_t after = in(c) + bytes;
    const std::int64_t shared = std::max<std::int64_t>(0, after - classes_[c].reserve);
    const std::int64_t more = shared - std::max<std::int64_t>(0, in(c)-classes_[c].reserve);
    if (after > classes_[c].limit || in_queue() + bytes > buffer_) return false;
    const std::int64_t free = std::max<std::int64_t>(0, pool_ - used);
    if (more > 0 && (more > free ||
                     static_cast<double>(shared) > classes_[c].alpha * static_cast<double>(free)))
      return false;
    classes_[c].frames.push_back({number, bytes});
    if (!sending_) choose(now_, now_);
    return true;
  }
  void pause(std::size_t c, Time until) {
    classes_[c].paused_until = until;
    if (!sending_) choose(now_, now_);
  }

  /// Advances to `to`; what is due at `to` has happened then.
  void advance(Time to, std::vector<Event>& events) {
    while (now_ < to) {
      if (in_queue() == 0) return void(now_ = to);
      std::int64_t budget = rate_;
      while (budget > 0 && sending_) {
        const std::int64_t done = std::min(budget, left_);
        budget -= done;
        left_ -= done;
        if (left_ > 0) break;
        std::deque<Frame>& frames = classes_[*sending_].frames;
        const Frame frame = frames.front();
        frames.pop_front();
        events.push_back({frame.number, starts_, now_ + 1, in(*sending_), in_queue()});
        sending_.reset();
        choose(budget == 0 ? now_ + 1 : now_, budget == 0 ? now_ + 1 : now_);
      }
      ++now_;
      if (!sending_) choose(now_, now_);
    }
  }

 private:
  [[nodiscard]] bool ready(std::size_t c, Time at) const {
    return !classes_[c].frames.empty() && classes_[c].paused_until <= at;
  }
  void choose(Time at, Time starts) {
    for (auto priority = turns_.rbegin(); priority != turns_.rend(); ++priority) {
      auto& order = priority->second;
      if (std::ranges::none_of(order, [&](std::size_t c) { return ready(c, at); })) continue;
      std::int64_t divisor = 0;
      for (const std::size_t c : order) divisor = std::gcd(divisor, classes_[c].weight);
      for (;;) {
        Class& it = classes_[order.front()];
        if (!ready(order.front(), at)) it.credit = 0;
        const std::int64_t cost = it.frames.empty() ? 0 : it.frames.front().bytes + overhead_;
        if (ready(order.front(), at) && cost <= it.credit) {
          it.credit -= cost;
          sending_ = order.front();
          left_ = cost * 8'000'000'000;
          starts_ = starts;
          return;
        }
        order.push_back(order.front());
        order.pop_front();
        Class& next = classes_[order.front()];
        next.credit += next.weight / divisor * quantum_;
      }
    }
  }

  std::vector<Class> classes_;
  std::map<std::uint32_t, std::deque<std::size_t>> turns_;  // by priority; the front has its turn
  std::int64_t buffer_ = 0, pool_ = 0, rate_ = 1, overhead_ = 0, quantum_ = 0;
  Time now_ = 0;
  std::optional<std::size_t> sending_;
  std::int64_t left_ = 0;
  Time starts_ = 0;
};

/// Draws of one sequence.
class Draws {
 public:
  explicit Draws(std::uint64_t sequence) : chance_(sequence, 7) {}
  std::uint64_t below(std::uint64_t n) { return chance_.bits(count_++) % n; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

 private:
  Chance chance_;
  std::uint64_t count_ = 0;
};

LineQueueConfig random_config(Draws& draw) {
  LineQueueConfig config;
  config.rate_bps = 1'000'000'000 * (1 + draw.below(40)) + draw.below(3) * 7919;
  config.cost.overhead = static_cast<std::uint32_t>(draw.below(2) * 24);
  config.quantum_bytes = draw.of<std::uint32_t>({64, 500, 1500});
  const std::uint64_t classes = 1 + draw.below(5);
  std::uint64_t reserved = 0;
  for (std::uint64_t c = 0; c < classes; ++c) {
    QueueClassConfig one;
    one.order = {static_cast<std::uint32_t>(draw.below(3)),
                 static_cast<std::uint32_t>(draw.of<std::uint64_t>({1, 2, 3, 6, 40}))};
    if (draw.below(3) == 0) one.buffer.reserve_bytes = draw.below(2000);
    if (draw.below(3) == 0) one.buffer.limit_bytes = 1000 + draw.below(6000);
    if (draw.below(2) == 0) one.buffer.alpha = draw.of({0.125, 0.5, 1.0, 8.0});
    reserved += one.buffer.reserve_bytes;
    config.classes.push_back(one);
  }
  config.buffer_bytes = reserved + draw.below(15'000);
  return config;
}

void run_sequence(std::uint64_t sequence) {
  Draws draw(sequence);
  LineQueueConfig config = random_config(draw);
  Queue queue(config);
  Model model;
  model.configure(config);
  std::vector<Event> got, asked;
  Time now = 0;
  const auto advance = [&](Time to) {
    const auto keep = [&](const Queue::SentFrame& left) {
      got.push_back({left.handle, to_ns(left.times.starts), to_ns(left.times.departs),
                     static_cast<std::int64_t>(left.behind_bytes),
                     static_cast<std::int64_t>(left.in_queue_bytes)});
    };
    while (queue.depart(instant_from_ns(to), keep)) continue;
    model.advance(to, asked);
    now = to;
  };
  for (int frame = 0; frame < 300; ++frame) {
    advance(now + static_cast<Time>(draw.of<std::uint64_t>({0, 1, draw.below(400), 40})));
    const auto c = static_cast<std::uint32_t>(draw.below(config.classes.size()));
    const auto bytes = static_cast<std::uint32_t>(draw.of<std::uint64_t>({40, 60, 1000, 1500}));
    ASSERT_EQ(queue.enqueue(c, bytes, frame, instant_from_ns(now)), model.add(c, frame, bytes))
        << "sequence " << sequence << ", frame " << frame;
    if (draw.below(15) == 0) {
      const Time until = now + static_cast<Time>(draw.below(3000)) - 300;
      queue.pause(c, instant_from_ns(now), instant_from_ns(until));
      EXPECT_FALSE(queue.depart(instant_from_ns(now), [](const auto&) {}));  // lets one start
      model.pause(c, until);
    }
    if (draw.below(25) == 0) {
      LineQueueConfig next = random_config(draw);
      if (draw.below(2) == 0) {
        next.classes = config.classes;
        next.quantum_bytes = config.quantum_bytes;
        next.buffer_bytes = std::max(next.buffer_bytes, config.buffer_bytes - config.pool_bytes());
      }
      config = next;
      Queue after(config);
      after.take_over(queue, instant_from_ns(now));
      queue = std::move(after);
      model.configure(config);
    }
    ASSERT_EQ(queue.bytes(), static_cast<std::uint64_t>(model.in_queue()))
        << "sequence " << sequence << ", frame " << frame;
  }
  std::vector<int> foreseen;
  queue.foresee([&](const Queue::SentFrame& left) { foreseen.push_back(left.handle); });
  const std::size_t left_before = got.size();
  advance(now + 250'000);
  for (std::size_t i = 0; i < std::min(got.size(), asked.size()); ++i)
    ASSERT_EQ(got[i], asked[i]) << "sequence " << sequence << ": " << text_of(got[i]) << ", model "
                                << text_of(asked[i]);
  ASSERT_EQ(got.size(), asked.size()) << "sequence " << sequence;
  ASSERT_EQ(queue.size(), 0U);
  ASSERT_EQ(queue.next_event(), Queue::kNever);
  ASSERT_EQ(foreseen.size(), got.size() - left_before);
  for (std::size_t i = 0; i < foreseen.size(); ++i)
    ASSERT_EQ(foreseen[i], got[left_before + i].frame);
}

TEST(LineQueue, DoesWhatAModelInStepsOfANanosecondDoes) {
  for (std::uint64_t sequence = 0; sequence < kSequences && !testing::Test::HasFatalFailure();
       ++sequence)
    run_sequence(sequence);
}

LineQueueConfig of_classes(std::vector<QueueClassConfig> classes) {
  return {.rate_bps = 8'000'000'000,
          .buffer_bytes = 1'000'000,
          .cost = {.overhead = 0},
          .classes = std::move(classes)};
}

/// Two classes that always have frames share the link by their weights.
TEST(LineQueue, SharesTheLinkByWeights) {
  Queue queue(of_classes({{.order = {0, 3}}, {.order = {0, 1}}}));
  for (int i = 0; i < 400; ++i) {
    ASSERT_TRUE(queue.enqueue(0, 1000, 0, Instant{}));
    ASSERT_TRUE(queue.enqueue(1, 1000, 1, Instant{}));
  }
  std::uint64_t first = 0;
  for (int i = 0; i < 480; ++i) {  // 80 rounds
    ASSERT_TRUE(queue.depart(Queue::kNever, [&](const auto& left) { first += left.handle == 0; }));
  }
  EXPECT_EQ(first, 360U);
}

/// A frame of a higher priority waits for the frame that is being sent, and for no other.
TEST(LineQueue, ServesTheHighestPriorityFirst) {
  Queue queue(of_classes({{.order = {1, 1}}, {.order = {7, 1}}}));
  ASSERT_TRUE(queue.enqueue(0, 1000, 1, Instant{}));
  ASSERT_TRUE(queue.enqueue(0, 1000, 2, Instant{}));
  ASSERT_TRUE(queue.enqueue(1, 500, 3, instant_from_ns(10)));
  std::vector<Event> events;
  const auto keep = [&](const Queue::SentFrame& left) {
    events.push_back({left.handle, to_ns(left.times.starts), to_ns(left.times.departs), 0, 0});
  };
  while (queue.depart(Queue::kNever, keep)) continue;
  EXPECT_EQ(events,
            (std::vector<Event>{{1, 0, 1000, 0, 0}, {3, 1000, 1500, 0, 0}, {2, 1500, 2500, 0, 0}}));
}

/// Two ports of a switch with one pool: with alpha 1, one port takes half, and two a third each.
TEST(LineQueue, TakesRoomFromAPoolOfSeveralQueues) {
  BufferPool pool(90'000);
  const LineQueueConfig config{
      .rate_bps = 1'000'000, .buffer_bytes = 90'000, .classes = {{.buffer = {.alpha = 1}}}};
  Queue one(config, &pool), other(config, &pool);
  int admitted = 0;
  while (one.enqueue(0, 100, 0, Instant{})) ++admitted;
  EXPECT_EQ(admitted, 450);
  while (other.enqueue(0, 100, 0, Instant{})) ++admitted;
  EXPECT_EQ(other.bytes(), 22'500U);
  EXPECT_EQ(pool.used(), 67'500U);
  // Over its threshold, the first may take nothing until it has shrunk to what is free.
  while (one.bytes() > 33'700) ASSERT_TRUE(one.depart(Queue::kNever, [](const auto&) {}));
  EXPECT_TRUE(other.enqueue(0, 100, 0, Instant{}));
  EXPECT_EQ(pool.used(), one.bytes() + other.bytes());
}

}  // namespace line_queue_test
}  // namespace lw::emulator
