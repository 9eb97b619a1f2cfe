/* What the core's kernels for epilogs in a step of their own do with float64: a part of
   multiplying_driver.c. */
/* The arguments of the core's kernels for epilogs and for sums of lines. */
typedef struct {
    int64_t tiles, length, count, length_tiles, line_tiles, entries, lanes, rounds, sums[4],
        result[4], bias[4], aux[4], function, is_packed;
} Epilog;
typedef struct {
    int64_t tiles, length, count, parts, part_length, line_tiles, entries, lanes, is_along, from[4],
        to[4];
} LineSums;
static double gelu(double x) {
    return x / (1 + exp(-2 * 0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
static double gelu_derivative(double x) {
    double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) +
           0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}
static int finish(double *result, const double *sums, const double *bias, void *aux,
                  double *totals, const Epilog *it) {
    int64_t per_entry = it->length_tiles * it->line_tiles * it->entries, lanes = it->lanes,
            height = 256 / lanes * it->rounds, words = (uintptr_t)result | (uintptr_t)sums,
            tall = it->result[1] | it->sums[1];
    if (it->tiles < 1 || it->tiles % per_entry || it->length_tiles * lanes * 2 < it->length ||
        it->line_tiles * height < it->count || it->function > 4 ||
        (it->is_packed && (words % 16 || (tall % 2 && it->count > 1) || it->sums[0] != 1)))
        return INVALID_VALUE;
    int64_t entries = it->tiles / per_entry * it->entries;
    for (int64_t i = 0; totals && i < it->length * it->line_tiles * entries; i++) totals[i] = 0;
    for (int64_t i = 0; i < it->length * it->count * entries; i++) {
        int64_t at = i % it->length, line = i / it->length % it->count,
                entry = i / it->length / it->count, fast = entry % it->entries,
                slow = entry / it->entries;
        double x = sums[offset(it->sums, at, line, fast, slow)];
        uint8_t *bits = (uint8_t *)aux + offset(it->aux, 0, line, fast, slow) + at / 8;
        double *argument = (double *)aux + offset(it->aux, at, line, fast, slow);
        if (bias) x += bias[offset(it->bias, at, line, fast, slow)];
        if (aux && it->function == 1) *bits = (at % 8 ? *bits : 0) | (x > 0) << at % 8;
        if (aux && it->function == 2) *argument = x;
        if (it->function == 3 && !(*bits >> at % 8 & 1)) x = 0;
        if (it->function == 4) x *= gelu_derivative(*argument);
        x = it->function == 1 && x < 0 ? 0 : it->function == 2 ? gelu(x) : x;
        result[offset(it->result, at, line, fast, slow)] = x;
        if (totals) totals[(entry * it->line_tiles + line / height) * it->length + at] += x;
    }
    return SUCCESS;
}
static int sum_lines(double *to, const double *from, const LineSums *it) {
    int64_t per_entry = it->line_tiles * it->parts * it->entries;
    if (it->tiles < 1 || it->tiles % per_entry || it->line_tiles * it->lanes < it->count ||
        it->parts * it->part_length < it->length || 256 % it->lanes)
        return INVALID_VALUE;
    for (int64_t i = 0; i < it->count * it->parts * it->tiles / per_entry * it->entries; i++) {
        int64_t line = i % it->count, part = i / it->count % it->parts,
                entry = i / it->count / it->parts, fast = entry % it->entries,
                slow = entry / it->entries, end = (part + 1) * it->part_length;
        double sum = 0;
        for (int64_t at = part * it->part_length; at < end && at < it->length; at++)
            sum += from[offset(it->from, at, line, fast, slow)];
        to[offset(it->to, part, line, fast, slow)] = sum;
    }
    return SUCCESS;
}
