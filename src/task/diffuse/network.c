/* Settings of diffusion, and the network that they describe. */
#include "run/common_facts.h"
#include "run/fields.h"
#include "task/diffuse/diffuse.h"

const char *mica__diffuse_noise_at(size_t i) {
  static const char *const names[] = {[MICA__DIFFUSION_LINEAR] = "linear", [MICA__DIFFUSION_COSINE] = "cosine", NULL};
  return names[i];
}

const char *mica__diffuse_target_at(size_t i) {
  static const char *const names[] = {
      [MICA__DIFFUSE_TARGET_NOISE] = "noise", [MICA__DIFFUSE_TARGET_VELOCITY] = "velocity", NULL};
  return names[i];
}

MICA__SETTINGS_TABLE(diffuse, DIFFUSE_SETTINGS);

MICA__SETTINGS_READER(diffuse, mica__diffuse_settings_of);

int64_t mica__diffuse_classes(const mica_run *run) {
  const size_t classes = mica__common_facts_of(run).classes.count;
  return classes > 1 ? (int64_t)classes : 0;
}

mica__diffusion mica__diffuse_trained(const mica_run *run) {
  const mica__diffuse_settings s = mica__diffuse_settings_of(run);
  return (mica__diffusion){.noise = (mica__diffusion_noise)s.noise,
                           .steps = s.noise_steps,
                           .classes = mica__diffuse_classes(run),
                           .velocity = s.target == MICA__DIFFUSE_TARGET_VELOCITY};
}

mica_value mica__diffuse_network(mica_nn *nn, const mica_run *run, mica_value x, mica_value time, mica_value label) {
  const mica__diffuse_settings s = mica__diffuse_settings_of(run);
  const int64_t classes = mica__diffuse_classes(run);
  const mica_denoiser_config config = {.width = s.width,
                                       .depth = s.depth,
                                       .blocks = s.blocks,
                                       .classes = classes ? classes + 1 : 0,
                                       .dropout = s.dropout};
  return mica_denoiser_build(nn, x, time, label, &config);
}
