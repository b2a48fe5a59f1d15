-- model: models with their geometry
-- Grain: model_id.
-- Units: parameters, tokens, bytes.
-- Reads: nothing. Read by: fit.
create table model (
    model_id varchar not null,
    family varchar,
    modality varchar,
    params_total bigint,
    params_active bigint,
    num_layers varchar,
    hidden_size bigint,
    intermediate_size varchar,
    num_attention_heads bigint,
    num_kv_heads bigint,
    head_dim bigint,
    vocab_size bigint,
    max_context bigint,
    attention varchar,
    sliding_window bigint,
    layers_with_full_attention bigint,
    kv_lora_rank bigint,
    qk_rope_head_dim bigint,
    moe_num_experts bigint,
    moe_top_k bigint,
    moe_shared bigint,
    native_dtype varchar,
    tied_embeddings boolean,
    component_params varchar,
    license varchar,
    released varchar,
    source varchar,
    params_basis varchar,
    kv_bytes_per_token_bf16 bigint,
    kv_const_bytes_per_seq bigint,
    kv_indexer_bytes_per_token_bf16 bigint,
    params_checkpoint bigint,
    params_embed_head bigint,
    params_routed_experts bigint,
    notes varchar,
    retrieved_on varchar
);

comment on table model is 'models with their geometry';
comment on column model.model_id is 'our key of the model';
comment on column model.family is 'model family';
comment on column model.modality is 'llm, vlm, encoder, encoder_decoder, image, video, video+audio, asr, tts, music, omni or audio';
comment on column model.params_total is 'parameters of the decoder or of all components';
comment on column model.params_active is 'parameters used per token';
comment on column model.num_layers is 'layers';
comment on column model.hidden_size is 'hidden size';
comment on column model.intermediate_size is 'MLP size; moe: is per expert';
comment on column model.num_attention_heads is 'query heads';
comment on column model.num_kv_heads is 'key and value heads';
comment on column model.head_dim is 'size of a head';
comment on column model.vocab_size is 'vocabulary';
comment on column model.max_context is 'longest context, tokens';
comment on column model.attention is 'gqa, mqa, mha, mla, sliding, hybrid or linear';
comment on column model.sliding_window is 'window of sliding layers, tokens';
comment on column model.layers_with_full_attention is 'layers that keep the whole context';
comment on column model.kv_lora_rank is 'size of the MLA latent';
comment on column model.qk_rope_head_dim is 'rotary part of the MLA key';
comment on column model.moe_num_experts is 'experts per layer';
comment on column model.moe_top_k is 'experts used per token';
comment on column model.moe_shared is 'shared experts';
comment on column model.native_dtype is 'format of the published weights';
comment on column model.tied_embeddings is 'true when input and output embeddings are one matrix';
comment on column model.component_params is 'parameters of each component';
comment on column model.license is 'licence of the weights';
comment on column model.released is 'month of release';
comment on column model.source is 'where the fact stands';
comment on column model.params_basis is 'how the parameters were counted';
comment on column model.kv_bytes_per_token_bf16 is 'cache per token over all growing layers, 16 bit, bytes';
comment on column model.kv_const_bytes_per_seq is 'constant state per sequence, bytes';
comment on column model.kv_indexer_bytes_per_token_bf16 is 'index cache per token, 16 bit, bytes';
comment on column model.params_checkpoint is 'parameters in the checkpoint';
comment on column model.params_embed_head is 'parameters of embeddings and head';
comment on column model.params_routed_experts is 'parameters of routed experts';
comment on column model.notes is 'what a reader should know';
comment on column model.retrieved_on is 'day on which the fact was taken';
