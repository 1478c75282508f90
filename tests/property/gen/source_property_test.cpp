// SPDX-License-Identifier: BSD-3-Clause
// A scheduler's flows send the same frames at the same times in batches (frame by frame in one
// reused buffer, or in bursts in several) as one at a time, each written into a new buffer.
#include <fmt/format.h>

#include "gen/traffic/tx_scheduler.h"
#include "support/property.h"

namespace lw::gen {
namespace source_property_test {

struct Sent {
  std::uint32_t flow = 0;
  std::int64_t at_ns = 0, span_ns = 0;
  std::uint16_t size = 0, payload = 0;
  std::uint8_t fault = 0;
  bool ends_message = false, lacks_signature = false;
  std::vector<std::byte> bytes;

  friend bool operator==(const Sent&, const Sent&) = default;
};

Sent sent(std::uint32_t flow, Duration at, const FrameInfo& info) {
  Sent frame;
  frame.flow = flow;
  frame.at_ns = at.count();
  frame.size = info.size;
  frame.payload = info.payload;
  frame.fault = info.fault();
  frame.ends_message = info.has(FrameInfo::kEndsMessage);
  frame.lacks_signature = info.has(FrameInfo::kLacksSignature);
  return frame;
}

constexpr std::size_t kFrames = 700;
constexpr std::uint64_t kSendTime = 0x1122334455667788;

std::vector<Sent> frame_by_frame(const config::FlowProfile& profile) {
  TxScheduler scheduler(profile);
  std::vector<Sent> frames;
  while (frames.size() < kFrames) {
    auto due = scheduler.next();
    if (!due) break;
    const auto flow = static_cast<std::uint32_t>(due->flow);
    Sent frame = sent(flow, due->at, frame_info(scheduler.cursor(flow)));
    due->fields.send_time_ns = kSendTime;
    frame.bytes.resize(due->size());
    due->frame->write(due->fields, frame.bytes);
    scheduler.advance();
    frame.span_ns = scheduler.cursor(flow).pacer().span().count();
    frames.push_back(std::move(frame));
  }
  return frames;
}

std::vector<Sent> batch_by_batch(const config::FlowProfile& profile) {
  TxScheduler scheduler(profile);
  std::vector<Sent> frames;
  std::vector<std::byte> buffer(FrameTemplate::kHeadroom + FrameTemplate::kTailroom,
                                std::byte{0xa5});
  BufferTag tag;
  SendStamp stamp{.time_ns = kSendTime};
  while (frames.size() < kFrames && !scheduler.done()) {
    const DueFlow due = scheduler.poll();
    HotFlow& hot = scheduler.hot(due.flow);
    FlowCursor& cursor = scheduler.cursor(due.flow);
    bool more = true;
    do {
      Sent frame = sent(due.flow, hot.due(), hot.info());
      const auto* start =
          hot.encode(cursor, stamp, {buffer.data() + FrameTemplate::kHeadroom, &tag});
      frame.bytes.assign(start, start + frame.size);
      more = hot.advance(1) || hot.next_batch(cursor);
      frame.span_ns = hot.span().count();
      frames.push_back(std::move(frame));
    } while (frames.size() < kFrames && more && hot.due() < scheduler.exclusive_until());
    scheduler.reschedule(more);
  }
  return frames;
}

/// Takes up to `most` frames of a flow at once; sets the span of the last one only.
std::vector<Sent> burst_by_burst(const config::FlowProfile& profile, std::size_t most) {
  TxScheduler scheduler(profile);
  std::vector<Sent> frames;
  struct Slot {
    std::vector<std::byte> bytes{FrameTemplate::kHeadroom + FrameTemplate::kTailroom,
                                 std::byte{0xa5}};
    BufferTag tag;
    FrameSlot slot() { return {bytes.data() + FrameTemplate::kHeadroom, &tag}; }
  };
  std::vector<Slot> slots(most);
  SendStamp stamp{.time_ns = kSendTime};
  while (frames.size() < kFrames && !scheduler.done()) {
    const std::uint32_t flow = scheduler.poll().flow;
    HotFlow& hot = scheduler.hot(flow);
    FlowCursor& cursor = scheduler.cursor(flow);
    bool more = true;
    do {
      const std::size_t count =
          hot.due_before(scheduler.exclusive_until(), std::min(most, kFrames - frames.size()));
      const FrameInfo info = hot.info();
      const std::byte* begin = nullptr;
      if (hot.layout() == nullptr) {
        begin = hot.encode(cursor, stamp, slots[0].slot());
      } else {
        hot.encode(count, stamp, [&](std::size_t i) { return slots[i].slot(); });
        begin = slots[0].slot().payload - hot.layout()->headers;
      }
      const std::ptrdiff_t headers = slots[0].slot().payload - begin;
      for (std::size_t i = 0; i < count; ++i) {
        Sent frame = sent(flow, hot.due_of(i), info);
        const std::byte* start = slots[i].slot().payload - headers;
        frame.bytes.assign(start, start + frame.size);
        frames.push_back(std::move(frame));
      }
      more = hot.advance(count) || hot.next_batch(cursor);
      frames.back().span_ns = hot.span().count();
    } while (frames.size() < kFrames && more && hot.due() < scheduler.exclusive_until());
    scheduler.reschedule(more);
  }
  return frames;
}

template <class... Text>
std::string one_of(Text... texts) {
  return *rc::gen::element<std::string>(texts...);
}

/// A [[flow]] of any kind that a profile can ask for.
std::string random_flow() {
  std::string text = "[[flow]]\n";
  text += one_of("operation = \"send\"\n", "operation = \"write\"\n", "operation = \"write_imm\"\n",
                 "operation = \"read_request\"\n", "operation = \"read_response\"\n",
                 "operation = \"fetch_add\"\n", "operation = \"ack\"\n", "transport = \"uc\"\n");
  const bool has_size = text.find("fetch_add") == text.npos && text.find("\"ack\"") == text.npos;
  if (has_size) {
    text += one_of("message_size = 1000\n", "message_size = 0\n", "message_size = 20\n",
                   "message_size = 5000\n", "message_size = 70000\n",
                   "message_size = { min = 0, max = 3000 }\n", "message_size = [64, 4096]\n");
  }
  if (text.find("_imm") != text.npos) text += "immediate = 7\nimmediate_step = 3\n";
  if (has_size && text.find("uc") == text.npos) text += one_of("", "ack_every = 3\n");
  text += one_of("", "encapsulation = \"rocev1\"\n", "vlan = 5\n", "source = \"2001:db8::7\"\n");
  text += one_of("", "signature = true\n");
  text += one_of("", "first_psn = 0xfffff0\n");
  text += one_of("", "qps = 3\n", "qps = 40\nva_step = 0x10000\n");
  text += one_of("messages = 1\n", "messages = 7\n", "messages = 300\n");
  text += one_of("", "repeat = 3\n", "repeat = \"forever\"\n");
  text += one_of("rate = \"1Gb/s\"\n", "rate = \"70 kframes/s\"\n", "rate = \"9 kmessages/s\"\n",
                 "goodput = \"3Gb/s\"\n");
  text += one_of("", "burst = 5\n", "burst = \"message\"\n");
  text += one_of("", "arrival = \"poisson\"\n",
                 "arrival = \"on_off\"\non = \"100us\"\noff = \"50us\"\n");
  text += one_of("", "start_after = \"1ms\"\n", "stop_after = \"700us\"\n");
  text += one_of("", "", "fault = [{ kind = \"bad_icrc\", rate = \"30%\" }]\n",
                 "fault = [{ kind = \"psn_gap\", frames = [3, 5] }]\n");
  return text;
}

RC_GTEST_PROP(HotFlow, SendsInBatchesWhatTheFlowsSendFrameByFrame, ()) {
  std::string text;
  for (int flows = *rc::gen::inRange(1, 4); flows > 0; --flows) text += random_flow();
  const auto profile = config::parse_flow_profile(text, "x.toml");
  RC_PRE(profile.has_value());  // not everything goes with everything
  const auto expected = frame_by_frame(*profile);
  const auto found = batch_by_batch(*profile);
  RC_LOG() << text;
  RC_ASSERT(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    RC_LOG() << fmt::format("frame {} of {} B\n", i, expected[i].size);
    RC_ASSERT(found[i] == expected[i]);
  }
  auto in_bursts = burst_by_burst(*profile, *rc::gen::inRange<std::size_t>(1, 40));
  RC_ASSERT(in_bursts.size() == expected.size());
  for (std::size_t i = 0; i < in_bursts.size(); ++i) {
    RC_LOG() << fmt::format("in bursts: frame {} of {} B\n", i, expected[i].size);
    if (in_bursts[i].span_ns == 0) in_bursts[i].span_ns = expected[i].span_ns;
    RC_ASSERT(in_bursts[i] == expected[i]);
  }
}

}  // namespace source_property_test
}  // namespace lw::gen
