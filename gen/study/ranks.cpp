// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/ranks.h"

#include <cstdlib>
#include <utility>

#ifdef LONGWIRE_MPI
#include <mpi.h>
#endif

namespace lw::gen::experiment {
namespace {

/// Returns true if mpirun started this process: Open MPI and MPICH set these variables to the
/// number of ranks.
bool started_by_mpirun() noexcept {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMI_SIZE") != nullptr;
}

}  // namespace

Ranks::Ranks(Ranks&& other) noexcept
    : joined_(std::exchange(other.joined_, false)), rank_(other.rank_), size_(other.size_) {}

#ifdef LONGWIRE_MPI

// Errors need no check: MPI's default is to end all ranks with a message.

Result<Ranks> Ranks::join() {
  if (!started_by_mpirun()) return Ranks(false, 0, 1);
  int provided = 0, rank = 0, size = 1;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return Ranks(true, rank, size);
}

Ranks::~Ranks() {
  if (joined_) MPI_Finalize();
}

void Ranks::send(int to, int kind, const std::string& text) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, kind, MPI_COMM_WORLD);
}

std::optional<Ranks::Message> Ranks::poll() {
  int arrived = 0, size = 0;
  MPI_Status status;
  if (!joined_) return std::nullopt;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &arrived, &status);
  if (arrived == 0) return std::nullopt;
  MPI_Get_count(&status, MPI_CHAR, &size);
  Message message{status.MPI_SOURCE, status.MPI_TAG,
                  std::string(static_cast<std::size_t>(size), 0)};
  MPI_Recv(message.text.data(), size, MPI_CHAR, message.from, message.kind, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return message;
}

#else

Result<Ranks> Ranks::join() {
  if (started_by_mpirun())
    return fail(
        "mpirun started this program, which was built without Open MPI: `./dev setup`, then "
        "`./dev build`",
        ExitCode::environment);
  return Ranks(false, 0, 1);
}

Ranks::~Ranks() = default;
void Ranks::send(int /*to*/, int /*kind*/, const std::string& /*text*/) {}
std::optional<Ranks::Message> Ranks::poll() { return std::nullopt; }

#endif

}  // namespace lw::gen::experiment
