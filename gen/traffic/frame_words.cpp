// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/frame_words.h"

#include <fmt/format.h>

#include "roce/frame.h"

namespace lw::gen {
namespace {

std::string request_words(const roce::Frame& frame) {
  std::string text;
  if (frame.rdeth) text += fmt::format(", EE {:#x}", frame.rdeth->ee_context.get());
  if (frame.deth) {
    text += fmt::format(", Q_Key {:#x}, source QP {:#x}", frame.deth->q_key.get(),
                        frame.deth->src_qp.get());
  }
  if (frame.xrceth) text += fmt::format(", SRQ {:#x}", frame.xrceth->xrc_srq.get());
  if (frame.feth) {
    text += fmt::format(", placement {}, selectivity {}", frame.feth->fields().placement,
                        frame.feth->fields().selectivity);
  }
  if (frame.reth) {
    text += fmt::format(", va {:#x}, rkey {:#x}, dmalen {}", frame.reth->va.get(),
                        frame.reth->r_key.get(), frame.reth->dma_length.get());
  }
  if (frame.atomiceth) {
    text += fmt::format(", va {:#x}, rkey {:#x}, swap or add {:#x}, compare {:#x}",
                        frame.atomiceth->va.get(), frame.atomiceth->r_key.get(),
                        frame.atomiceth->swap_or_add.get(), frame.atomiceth->compare.get());
  }
  if (frame.immdt) text += fmt::format(", immediate {:#x}", frame.immdt->immediate.get());
  if (frame.ieth) text += fmt::format(", invalidates rkey {:#x}", frame.ieth->r_key.get());
  return text;
}

std::string response_words(const roce::Frame& frame) {
  std::string text;
  if (frame.aeth) {
    text += fmt::format(", syndrome {:#04x}, MSN {}", frame.aeth->syndrome.get(),
                        frame.aeth->msn.get());
  }
  if (frame.atomicacketh) {
    text += fmt::format(", original {:#x}", frame.atomicacketh->original.get());
  }
  return text;
}

}  // namespace

std::string frame_words(wire::Bytes bytes) {
  const auto frame = roce::parse(bytes);
  if (!frame || frame->info == nullptr) return "not RoCE";
  std::string text = fmt::format("{}, QP {:#x}, PSN {}", frame->info->name,
                                 frame->bth->dest_qp.get(), frame->bth->psn().value());
  if (frame->bth->ack_req()) text += ", AckReq";
  if (frame->bth->solicited_event()) text += ", SE";
  text += request_words(*frame) + response_words(*frame);
  return text + fmt::format(", {} B of payload, frame {} B", frame->payload_length, bytes.size());
}

}  // namespace lw::gen
