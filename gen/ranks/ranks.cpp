// SPDX-License-Identifier: BSD-3-Clause
#include "gen/ranks/ranks.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <system_error>
#include <utility>

#include "gen/ranks/mpi_module.h"

namespace lw::gen {
namespace {

/// Loads the module from the folder of the build or of the installation. It stays loaded. Errors
/// (environment): it is in neither, or can't be loaded.
Result<const MpiModule*> load_module() {
  std::error_code unknown;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
  for (const char* folder : {"ranks", "../lib/longwire"}) {
    const auto file = program / folder / kMpiModuleFile;
    if (!std::filesystem::exists(file, unknown)) continue;
    // MPI's own modules look for its symbols among the global ones.
    void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    void* const symbol = module != nullptr ? dlsym(module, kMpiModuleSymbol) : nullptr;
    if (symbol == nullptr)
      return fail(file.string() + ": can't be loaded: " + dlerror(), ExitCode::environment);
    return reinterpret_cast<decltype(&longwire_mpi_module)>(symbol)();
  }
  return fail(
      "mpirun started this program, and its module for Open MPI is not there: `apt install "
      "longwire-mpi`; in the source, `./dev setup`, then `./dev build`",
      ExitCode::environment);
}

}  // namespace

/// Open MPI and MPICH set these variables to the number of ranks; Slurm's srun --mpi=pmix sets
/// the rank.
bool Ranks::expected() noexcept {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMI_SIZE") != nullptr ||
         std::getenv("PMIX_RANK") != nullptr;
}

Result<Ranks> Ranks::join() {
  if (!expected()) return Ranks(nullptr, 0, 1);
  const auto module = load_module();
  if (!module) return std::unexpected(module.error());
  int rank = 0, size = 1;
  (*module)->join(rank, size);
  return Ranks(*module, rank, size);
}

Ranks::Ranks(Ranks&& other) noexcept
    : module_(std::exchange(other.module_, nullptr)), rank_(other.rank_), size_(other.size_) {}

Ranks::~Ranks() {
  if (module_ != nullptr) module_->leave();
}

void Ranks::send(int to, int kind, const std::string& text) {
  if (module_ != nullptr) module_->send(to, kind, text);
}

std::optional<Ranks::Message> Ranks::poll() {
  Message message;
  if (module_ == nullptr || !module_->poll(message.from, message.kind, message.text))
    return std::nullopt;
  return message;
}

}  // namespace lw::gen
