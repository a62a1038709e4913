// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Fills the structures of ioracle.h with known values and prints their sizes, so
// that layout.f90 can see whether those of the Fortran module lie alike.

#include <string.h>

#include <ioracle.h>

enum { OBSERVATION, CONFIG, PREDICTION, BURST, INFO, BASIS, SCORE };

size_t layout_size(int structure)
{
    static const size_t sizes[] = {
        [OBSERVATION] = sizeof(ioracle_observation), [CONFIG] = sizeof(ioracle_config),
        [PREDICTION] = sizeof(ioracle_prediction),   [BURST] = sizeof(ioracle_burst),
        [INFO] = sizeof(ioracle_info),               [BASIS] = sizeof(ioracle_basis),
        [SCORE] = sizeof(ioracle_score),
    };
    return sizes[structure];
}

void layout_prediction(ioracle_prediction *prediction)
{
    memset(prediction, 0, sizeof *prediction);
    prediction->access = 1;
    prediction->function = 2;
    prediction->symbol = 3;
    prediction->is_new_file = true;
    prediction->file = 4;
    prediction->offset = 5;
    prediction->size = 6;
    prediction->from_now_ns = 7;
    prediction->interarrival_ns = 8;
    prediction->io_time_ns = 9;
    prediction->probability = 10;
    prediction->operation_probability = 15;
    prediction->size_spread.min = 11;
    prediction->offset_spread.max = 12;
    prediction->interarrival_spread.deviation = 13;
    prediction->io_time_spread.min = 14;
    prediction->path_bytes = 3;
    strcpy(prediction->path, "abc");
}

// 0 if each field has the number of its place.
int layout_observation(const ioracle_observation *call)
{
    return !(call->struct_size == sizeof *call && call->access == 2 && call->function == 3
             && call->flags == 4 && call->path == NULL && call->file == 6 && call->handle == 7
             && call->offset == 8 && call->size == 9 && call->start_ns == 10
             && call->end_ns == 11 && call->context == 12 && call->context_text == NULL
             && call->stack == NULL && call->n_frames == 15);
}

int layout_config(const ioracle_config *config)
{
    return !(config->struct_size == sizeof *config && config->max_predictions == 2
             && config->max_symbols == 3 && config->max_files == 4
             && config->max_transitions == 5 && config->max_contexts == 6
             && config->max_occurrences == 7 && config->reserved == 0);
}

void layout_burst(ioracle_burst *burst)
{
    *burst = (ioracle_burst) { 1, 2, 3, 4, 5.0, { 0, 0, 0 } };
}

void layout_info(ioracle_info *info)
{
    *info = (ioracle_info) { 1, 2, 3, 4, { 0, 0, 0, 0 } };
}

void layout_basis(ioracle_basis *basis)
{
    *basis = (ioracle_basis) { 1, 2, 3, 4, { 0, 0, 0, 0, 0 } };
}
